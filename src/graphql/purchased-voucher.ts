import { orNotFound } from '../domain/errors.ts'
import { purchasedVoucherList, type PurchasedVoucher as Row } from '../domain/voucher.ts'
import { builder } from './builder.ts'
import { pageComplexity, recordComplexity } from './complexity.ts'
import { readConnection, updatedSinceDescription } from './connection.ts'
import { readRecordId, recordKey } from './global-id.ts'
import { permissionsFor } from './node.ts'
import { oneOperation } from './policy.ts'
import { Tenant } from './tenant.ts'

const PurchasedVoucher = builder.node(builder.objectRef<Row>('PurchasedVoucher'), {
  description: 'A voucher that was bought, with its balance.',
  id: { resolve: recordKey, description: 'The global id.' },
  fields: t => ({
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    reference: t.exposeString('reference', { description: 'What is printed on it; unique in any case.' }),
    initialBalance: t.expose('initialBalance', {
      type: 'Money',
      nullable: true,
      description: 'What was on it when it was bought.',
    }),
    currentBalance: t.expose('currentBalance', { type: 'Money', nullable: true, description: 'What is left on it.' }),
    purchaseValue: t.expose('purchaseValue', { type: 'Money', nullable: true, description: 'What was paid for it.' }),
    currency: t.exposeString('currency', { nullable: true, description: 'The ISO 4217 code of its amounts.' }),
    isMonetary: t.exposeBoolean('isMonetary', { description: 'Whether it is worth an amount of money.' }),
    allowPartRedeem: t.exposeBoolean('allowPartRedeem', { description: 'Whether it can be redeemed in parts.' }),
    void: t.exposeBoolean('void', { description: 'Whether it was made void.' }),
    orderId: t.expose('orderId', { type: 'BigInt', nullable: true, description: 'The order it was bought with.' }),
    orderItemId: t.expose('orderItemId', { type: 'BigInt', nullable: true, description: 'The item of that order.' }),
    productId: t.expose('productId', {
      type: 'BigInt',
      nullable: true,
      description: 'The numeric id of the product, or of the variant, that was bought.',
    }),
    productTitle: t.exposeString('productTitle', { nullable: true, description: 'Its title when it was bought.' }),
    productSlug: t.exposeString('productSlug', { nullable: true, description: 'Its slug when it was bought.' }),
    parentProductId: t.expose('parentProductId', {
      type: 'BigInt',
      nullable: true,
      description: 'The numeric id of the product whose variant was bought.',
    }),
    parentProductTitle: t.exposeString('parentProductTitle', {
      nullable: true,
      description: 'The title of that product when the voucher was bought.',
    }),
    purchaseTimestamp: t.expose('purchaseTimestamp', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was bought.',
    }),
    dateIssued: t.expose('dateIssued', { type: 'DateTime', nullable: true, description: 'When it was issued.' }),
    dateValidStart: t.expose('dateValidStart', {
      type: 'Date',
      nullable: true,
      description: "The first day on which it is valid, in its tenant's time zone.",
    }),
    dateValidEnd: t.expose('dateValidEnd', {
      type: 'Date',
      nullable: true,
      description: "The last day on which it is valid, in its tenant's time zone.",
    }),
    dateScheduled: t.expose('dateScheduled', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is to be sent to its recipient.',
    }),
    redemptionStatus: t.exposeString('redemptionStatus', { nullable: true, description: 'How far it is redeemed.' }),
    voidReason: t.exposeString('voidReason', { nullable: true, description: 'Why it was made void.' }),
    voidDate: t.expose('voidDate', { type: 'DateTime', nullable: true, description: 'When it was made void.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

builder.objectFields(Tenant, t => ({
  purchasedVouchers: t.connection(
    {
      type: PurchasedVoucher,
      nullable: true,
      description: "The tenant's purchased vouchers, by `updatedAt`, then id. Needs `view_vouchers` and `view_orders`.",
      policy: { operations: oneOperation, permissions: permissionsFor.PurchasedVoucher },
      complexity: pageComplexity,
      args: { updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }) },
      resolve: (tenant, args, context) =>
        readConnection(context, purchasedVoucherList(tenant.id), args, {
          page: range => context.loaders.vouchers.pages.load({ tenantId: tenant.id, range }),
          count: updatedSince => context.loaders.vouchers.counts.load({ tenantId: tenant.id, updatedSince }),
        }),
    },
    { name: 'PurchasedVoucherConnection' },
    { name: 'PurchasedVoucherEdge' },
  ),
  purchasedVoucher: t.field({
    type: PurchasedVoucher,
    nullable: true,
    description: "One of the tenant's purchased vouchers. Needs `view_vouchers` and `view_orders`.",
    policy: { operations: oneOperation, permissions: permissionsFor.PurchasedVoucher },
    complexity: recordComplexity,
    args: { id: t.arg.id({ required: true, description: 'Its numeric or its global id.' }) },
    resolve: ({ id: tenantId }, args, { loaders }) => {
      const id = readRecordId('PurchasedVoucher', tenantId, args.id)
      return loaders.vouchers.records.load({ tenantId, id }).then(orNotFound('purchased voucher'))
    },
  }),
}))
