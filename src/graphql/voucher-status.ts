import { voucherStatuses } from '../domain/record/voucher-status.ts'
import { builder, enumValues } from './builder.ts'

export const VoucherStatus = builder.enumType('VoucherStatus', {
  description: 'States that a voucher can be redeemed now, or the first reason why it cannot.',
  values: enumValues(voucherStatuses),
})
