/** A page of vouchers for each filter in each order. */
import type { Case } from './cases.ts'

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const filters: Record<string, string> = {
  'no filter': '',
  redeemable: 'status: [REDEEMABLE]',
  'redeemed in part': 'status: [PART_REDEEMED]',
  redeemed: 'status: [REDEEMED]',
  expired: 'status: [EXPIRED]',
  void: 'status: [VOID]',
  'not yet valid': 'status: [NOT_YET_VALID]',
  'valid today': `validOn: { from: "${day(0)}", to: "${day(0)}" }`,
  'valid until the next weeks': `validUntil: { from: "${day(0)}", to: "${day(20)}" }`,
  'purchased long ago': `purchased: { before: "${day(-1000)}T00:00:00Z" }`,
  'purchased in a month': `purchased: { from: "${day(-530)}T00:00:00Z", before: "${day(-500)}T00:00:00Z" }`,
  'a product that many bought': 'productId: 841',
  'a product that few bought': 'productId: 858',
  'a balance of none': 'currency: "GBP", balance: { to: 0 }',
  'a balance in a range': 'currency: "GBP", balance: { from: 100, to: 120 }',
  'a currency that few have': 'currency: "EUR"',
  'a currency that none has': 'currency: "XXX"',
  'a reference': 'text: "REF-1E4F"',
  'a word in each title': 'text: "gift"',
  'a word and a number': 'text: "gift 841"',
  'a name': 'text: "recipient 123"',
  'a text without a trigram': 'text: "~"',
}

/** All pages. An order by balance needs a currency. */
export const pages: readonly Case[] = Object.entries(filters).flatMap(([name, filter]) =>
  ['UPDATED_AT', 'PURCHASED_AT', 'VALID_UNTIL', 'BALANCE'].flatMap(field =>
    ['ASC', 'DESC'].map((direction): Case => {
      const currency = field === 'BALANCE' && !filter.includes('currency') ? 'currency: "GBP", ' : ''
      const args = `filter: { ${currency}${filter} }, orderBy: { field: ${field}, direction: ${direction} }`
      return { name: `${name}, ${field} ${direction}`, list: 'purchasedVouchers', args }
    }),
  ),
)
