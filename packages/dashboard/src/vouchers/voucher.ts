// The types of the vouchers in the answers of the API.
import type { DashboardVoucherQuery, DashboardVouchersQuery } from '../operations.ts'

type VoucherPage = NonNullable<NonNullable<DashboardVouchersQuery['tenant']>['purchasedVouchers']>

export type ListedVoucher = VoucherPage['nodes'][number]

/** The fields of a voucher in which the words of a search occur. */
export type VoucherMatch = NonNullable<VoucherPage['edges']>[number]

/** A voucher with all fields that the dialog shows. */
export type ShownVoucher = Extract<NonNullable<DashboardVoucherQuery['node']>, { readonly reference: string }>
