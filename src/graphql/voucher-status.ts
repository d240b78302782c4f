import { voucherStatuses } from '../domain/record/voucher-status.ts'
import { builder } from './builder.ts'

/** The enum `VoucherStatus`. */
export const VoucherStatus = builder.enumType('VoucherStatus', {
  description: 'Whether a voucher can be redeemed now, and if not, the first reason that applies.',
  values: Object.fromEntries(
    Object.entries(voucherStatuses).map(([value, description]) => [value, { value, description }]),
  ),
})
