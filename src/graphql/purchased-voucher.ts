import { vouchers } from '../domain/voucher.ts'
import { builder } from './builder.ts'
import { addResource } from './resource.ts'

const PurchasedVoucher = addResource(vouchers, 'A purchased voucher with its balance.')

builder.objectFields(PurchasedVoucher, t => ({
  reference: t.exposeString('reference', {
    description: 'The reference that is printed on it; unique without regard to case.',
  }),
  initialBalance: t.expose('initialBalance', {
    type: 'Money',
    nullable: true,
    description: 'The balance when it was purchased.',
  }),
  currentBalance: t.expose('currentBalance', {
    type: 'Money',
    nullable: true,
    description: 'The balance that is left.',
  }),
  purchaseValue: t.expose('purchaseValue', {
    type: 'Money',
    nullable: true,
    description: 'The price that was paid for it.',
  }),
  currency: t.exposeString('currency', { nullable: true, description: 'The ISO 4217 code of its amounts.' }),
  isMonetary: t.exposeBoolean('isMonetary', { description: 'Whether its value is an amount of money.' }),
  allowPartRedeem: t.exposeBoolean('allowPartRedeem', { description: 'Whether it can be redeemed in parts.' }),
  void: t.exposeBoolean('void', { description: 'Whether it was voided.' }),
  orderId: t.expose('orderId', { type: 'BigInt', nullable: true, description: 'The numeric id of the order.' }),
  orderItemId: t.expose('orderItemId', {
    type: 'BigInt',
    nullable: true,
    description: 'The numeric id of the item of that order.',
  }),
  productId: t.expose('productId', {
    type: 'BigInt',
    nullable: true,
    description: 'The numeric id of the product or of the variant that was purchased.',
  }),
  productTitle: t.exposeString('productTitle', {
    nullable: true,
    description: 'The title of the product at the time of purchase.',
  }),
  productSlug: t.exposeString('productSlug', {
    nullable: true,
    description: 'The slug of the product at the time of purchase.',
  }),
  parentProductId: t.expose('parentProductId', {
    type: 'BigInt',
    nullable: true,
    description: 'The numeric id of the product whose variant was purchased.',
  }),
  parentProductTitle: t.exposeString('parentProductTitle', {
    nullable: true,
    description: 'The title of that product at the time of purchase.',
  }),
  purchaseTimestamp: t.expose('purchaseTimestamp', {
    type: 'DateTime',
    nullable: true,
    description: 'When it was purchased.',
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
  redemptionStatus: t.exposeString('redemptionStatus', { nullable: true, description: 'The state of its redemption.' }),
  voidReason: t.exposeString('voidReason', { nullable: true, description: 'Why it was voided.' }),
  voidDate: t.expose('voidDate', { type: 'DateTime', nullable: true, description: 'When it was voided.' }),
  createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
}))
