import { vouchers } from '../domain/voucher.ts'
import { builder } from './builder.ts'
import { addResource } from './resource.ts'

const PurchasedVoucher = addResource(vouchers, 'A voucher that was bought, with its balance.')

builder.objectFields(PurchasedVoucher, t => ({
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
}))
