import DataLoader from 'dataloader'
import { orNotFound } from '../domain/errors.ts'
import { statusOf } from '../domain/record/voucher-status.ts'
import { findDays } from '../domain/tenant/tenant.ts'
import { builder } from './builder.ts'
import type { Reader } from './loaders.ts'
import { PurchasedVoucher } from './purchased-voucher.ts'
import { VoucherStatus } from './voucher-status.ts'

/** The days at the tenants of vouchers. */
const dayLoader = ({ sql }: Reader) => new DataLoader((ids: readonly number[]) => findDays(sql, ids))

builder.objectField(PurchasedVoucher, 'status', t =>
  t.field({
    type: VoucherStatus,
    nullable: true,
    description: "Whether it can be redeemed today in its tenant's time zone, by the rules of a resolution.",
    resolve: async (voucher, _args, { loaders }) =>
      statusOf(voucher, orNotFound('tenant')(await loaders.get(dayLoader).load(voucher.tenantId))),
  }),
)
