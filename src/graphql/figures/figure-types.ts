/** The types of the figures. */
import type * as rows from '../../domain/figures/figure.ts'
import { products } from '../../domain/record/product.ts'
import { builder } from '../builder.ts'
import { CatalogVoucher } from '../catalog-voucher.ts'
import { findAuthorisedProduct } from '../purchased-voucher.ts'
import { VoucherStatus } from '../voucher-status.ts'

const currencyDescription = 'The ISO 4217 code of the amounts; null for vouchers without a currency.'

const WithoutBalance = builder.objectRef<rows.WithoutBalance>('WithoutBalance').implement({
  description:
    'Vouchers without a balance: they pay for a service, for example an experience, and no sum of ' +
    'balances includes them.',
  fields: t => ({
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers.' }),
    paid: t.expose('paid', { type: 'Money', description: 'The sum of the amounts paid for them.' }),
  }),
})

export const SalesFigure = builder.objectRef<rows.SalesFigure>('SalesFigure').implement({
  description:
    'The sales in one currency: the vouchers that were purchased in a period, as they are now. Void vouchers ' +
    'count in `voided` only.',
  fields: t => ({
    currency: t.exposeString('currency', { nullable: true, description: currencyDescription }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers sold, without void ones.' }),
    paid: t.expose('paid', { type: 'Money', description: 'The sales: the sum of the amounts paid.' }),
    value: t.expose('value', {
      type: 'Money',
      description: 'The sum of their initial balances. Vouchers of `withoutBalance` have none.',
    }),
    redeemed: t.expose('redeemed', {
      type: 'Money',
      description:
        'The amount redeemed until now: the sum of their initial balances minus the sum of their current balances.',
    }),
    voided: t.exposeInt('voided', { description: 'The number of vouchers purchased in the period and voided since.' }),
    withoutBalance: t.expose('withoutBalance', {
      type: WithoutBalance,
      description: 'The vouchers sold that have no balance.',
    }),
  }),
})

const intervalFields = {
  from: 'The first calendar day.',
  to: 'The last calendar day.',
  start: 'The instant at which the first day begins in the time zone.',
  end: 'The instant at which the interval ends: the start of the day after `to` in the time zone.',
}

export const FigurePeriod = builder.objectRef<rows.FigurePeriod>('FigurePeriod').implement({
  description: 'The sales in an interval of the period.',
  fields: t => ({
    from: t.expose('from', { type: 'Date', description: intervalFields.from }),
    to: t.expose('to', { type: 'Date', description: intervalFields.to }),
    start: t.expose('start', { type: 'DateTime', description: intervalFields.start }),
    end: t.expose('end', { type: 'DateTime', description: intervalFields.end }),
    sales: t.expose('sales', {
      type: [SalesFigure],
      description: 'The sales by currency; empty when nothing was sold.',
      complexity: { field: 1, multiplier: 2 },
    }),
  }),
})

export const ConsentPeriod = builder.objectRef<rows.ConsentPeriod>('ConsentPeriod').implement({
  description: 'The consents to marketing of an interval of the period.',
  fields: t => ({
    from: t.expose('from', { type: 'Date', description: intervalFields.from }),
    to: t.expose('to', { type: 'Date', description: intervalFields.to }),
    start: t.expose('start', { type: 'DateTime', description: intervalFields.start }),
    end: t.expose('end', { type: 'DateTime', description: intervalFields.end }),
    given: t.exposeInt('given', {
      description: 'The number of customers who consented in the interval, with customers who have withdrawn since.',
    }),
    withdrawn: t.exposeInt('withdrawn', { description: 'The number of consents that were withdrawn in the interval.' }),
  }),
})

const ExpiryFigure = builder.objectRef<rows.ExpiryFigure>('ExpiryFigure').implement({
  description: 'Vouchers whose validity ends in one month.',
  fields: t => ({
    month: t.expose('month', {
      type: 'Date',
      nullable: true,
      description: 'The first day of the month; null for vouchers that do not expire.',
    }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers.' }),
    balance: t.expose('balance', { type: 'Money', description: 'The sum of their balances.' }),
  }),
})

export const OutstandingFigure = builder.objectRef<rows.OutstandingFigure>('OutstandingFigure').implement({
  description:
    'The outstanding vouchers of one currency, which are not void, expired or redeemed. Vouchers that are ' +
    'not valid yet are included.',
  fields: t => ({
    currency: t.exposeString('currency', { nullable: true, description: currencyDescription }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers.' }),
    balance: t.expose('balance', { type: 'Money', description: 'The sum of their balances.' }),
    byExpiry: t.expose('byExpiry', {
      type: [ExpiryFigure],
      description: 'The vouchers by the month of their last valid day. Vouchers that do not expire come last.',
      complexity: { field: 1, multiplier: 24 },
    }),
    withoutBalance: t.expose('withoutBalance', {
      type: WithoutBalance,
      description: 'The outstanding vouchers that have no balance.',
    }),
  }),
})

const BalanceFigure = builder.objectRef<rows.BalanceFigure>('BalanceFigure').implement({
  description: 'What is left on vouchers of one currency.',
  fields: t => ({
    currency: t.exposeString('currency', { nullable: true, description: currencyDescription }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers.' }),
    balance: t.expose('balance', { type: 'Money', description: 'The sum of their balances.' }),
    withoutBalance: t.expose('withoutBalance', {
      type: WithoutBalance,
      description: 'The vouchers without a balance.',
    }),
  }),
})

export const StatusFigure = builder.objectRef<rows.StatusFigure>('StatusFigure').implement({
  description: 'How many vouchers have a status.',
  fields: t => ({
    status: t.expose('status', { type: VoucherStatus, description: 'The status.' }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers.' }),
    share: t.exposeFloat('share', { description: 'The share of all vouchers, from 0 to 1; 0 when there are none.' }),
    remaining: t.expose('remaining', {
      type: [BalanceFigure],
      description:
        'What is left on these vouchers, by currency. Nothing is left on void and redeemed ones: an empty list.',
      complexity: { field: 1, multiplier: 2 },
    }),
  }),
})

export const ProductFigure = builder.objectRef<rows.ProductFigure>('ProductFigure').implement({
  description: 'The sales of a product in one currency. Vouchers of a variant count for its product.',
  fields: t => ({
    productId: t.expose('productId', { type: 'BigInt', description: 'The numeric id of the product.' }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'The title of the product. When the product was deleted: the title on one of its vouchers.',
    }),
    currency: t.exposeString('currency', { nullable: true, description: currencyDescription }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers sold, without void ones.' }),
    paid: t.expose('paid', { type: 'Money', description: 'The sales: the sum of the amounts paid.' }),
    value: t.expose('value', { type: 'Money', description: 'The sum of their initial balances.' }),
    product: t.field({
      type: CatalogVoucher,
      nullable: true,
      description:
        'The product, as it is now. Null when it was deleted, or belongs to a tenant for which the token is not ' +
        'authorised.',
      policy: { permissions: products.permissions },
      resolve: ({ productId }, _args, context) => findAuthorisedProduct(productId, context),
    }),
  }),
})
