// The vouchers of the answers.
import type { DashboardVoucherQuery, DashboardVouchersQuery } from '../operations.ts'

/** A voucher of the list. */
export type ListedVoucher = NonNullable<
  NonNullable<DashboardVouchersQuery['tenant']>['purchasedVouchers']
>['nodes'][number]

/** A voucher with all that the dashboard shows of it. */
export type ShownVoucher = Extract<NonNullable<DashboardVoucherQuery['node']>, { readonly reference: string }>
