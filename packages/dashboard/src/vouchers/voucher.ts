// The vouchers of the answers.
import type { DashboardVoucherQuery, DashboardVouchersQuery } from '../operations.ts'

type VoucherPage = NonNullable<NonNullable<DashboardVouchersQuery['tenant']>['purchasedVouchers']>

/** A voucher of the list. */
export type ListedVoucher = VoucherPage['nodes'][number]

/** The fields of a voucher in which a search found its words. */
export type VoucherMatch = NonNullable<VoucherPage['edges']>[number]

/** A voucher with all that the dashboard shows of it. */
export type ShownVoucher = Extract<NonNullable<DashboardVoucherQuery['node']>, { readonly reference: string }>
