/** The most expensive searches that a caller can send, and figures. */

/** A list with its arguments. */
interface Case {
  name: string
  list: 'purchasedVouchers' | 'catalogVouchers' | 'marketingSignups'
  args: string
}

const letters = 'r g 1 2 3 4 5 6 7 8'
const allStatuses = 'VOID, NOT_YET_VALID, EXPIRED, REDEEMED, PART_REDEEMED, REDEEMABLE'
const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
const purchased = 'purchased: { from: "2000-01-01T00:00:00Z" }'

const vouchers: Record<string, string> = {
  'no filter': 'orderBy: { field: PURCHASED_AT, direction: DESC }',
  'by purchase, from the first': 'orderBy: { field: PURCHASED_AT }',
  'by the end of the validity': 'orderBy: { field: VALID_UNTIL }',
  'by updatedAt, changed since ever':
    'updatedSince: "2000-01-01T00:00:00Z", orderBy: { field: UPDATED_AT, direction: DESC }',
  'purchased in a range, by purchase': `filter: { ${purchased} }, orderBy: { field: PURCHASED_AT }`,
  'of a currency, by balance': 'filter: { currency: "GBP" }, orderBy: { field: BALANCE, direction: DESC }',
  'valid until a day, by the end of the validity': `filter: { validUntil: { from: "2000-01-01" } },
    orderBy: { field: VALID_UNTIL, direction: DESC }`,
  'all six statuses': `filter: { status: [${allStatuses}] }`,
  'one status': 'filter: { status: [REDEEMED] }, orderBy: { field: PURCHASED_AT, direction: DESC }',
  'ten one-letter words': `filter: { text: "${letters}" }`,
  'a currency that no voucher has': 'filter: { currency: "XXX" }, orderBy: { field: VALID_UNTIL }',
  'a text without a trigram': 'filter: { text: "~" }',
  'the beginnings of words': 'filter: { text: "e-r" }',
  'a word in each title': 'filter: { text: "gift" }, orderBy: { field: VALID_UNTIL, direction: DESC }',
  'a word in each name': 'filter: { text: "recipient" }, orderBy: { field: PURCHASED_AT }',
  'common words and a rare one': 'filter: { text: "gift recipient ref unicorn" }',
  'common words, not together': 'filter: { text: "giftrecipient" }',
  'a reference': 'filter: { text: "REF-1E4F0A" }',
  'filters that no voucher has together': `filter: { status: [VOID], validUntil: { to: "2000-01-01" }, ${purchased}, text: "gift" }`,
  'common filters with an empty intersection': `filter: { validOn: { from: "2024-01-01" }, validUntil: { from: "2000-01-01" },
    ${purchased}, status: [REDEEMED, EXPIRED], currency: "GBP", balance: { from: 0 }, text: "gift recipient zz" }`,
  'changed after tomorrow': `updatedSince: "${tomorrow}", orderBy: { field: PURCHASED_AT }`,
  'changed since ever, with a rare currency': `updatedSince: "2000-01-01T00:00:00Z", filter: { text: "~" },
    orderBy: { field: VALID_UNTIL }`,
  'not yet valid, by purchase': 'filter: { status: [NOT_YET_VALID] }, orderBy: { field: PURCHASED_AT }',
  'one product, by purchase': 'filter: { productId: 822 }, orderBy: { field: PURCHASED_AT }',
}

const products: Record<string, string> = {
  'by title': 'orderBy: { field: TITLE }',
  'of a currency, by price': 'filter: { currency: "GBP", price: { from: 0 } }, orderBy: { field: PRICE }',
  'a text without a trigram': 'filter: { text: "~" }, orderBy: { field: TITLE }',
  'a word in each title, not monetary': 'filter: { text: "gift", isMonetary: false, currency: "XXX" }',
}

const signups: Record<string, string> = {
  'by name': 'orderBy: { field: NAME }',
  'in a range, by consent': `filter: { consented: { from: "2000-01-01T00:00:00Z" } },
    orderBy: { field: CONSENTED_AT, direction: DESC }`,
  'ten one-letter words': 'filter: { text: "c c c c c c c c c 9" }, orderBy: { field: NAME }',
  'one source': 'filter: { source: "checkout", text: "~" }',
  'a word in each address': 'filter: { text: "example customer" }, orderBy: { field: CONSENTED_AT }',
}

/** All cases. */
export const cases: readonly Case[] = Object.entries({
  purchasedVouchers: vouchers,
  catalogVouchers: products,
  marketingSignups: signups,
} as const).flatMap(([list, named]) =>
  Object.entries(named).map(([name, args]) => ({ name, list: list as Case['list'], args })),
)

const day = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

const periods: Record<string, string> = {
  'a year by day': `period: { from: "${day(365)}", to: "${day(0)}" }, by: DAY`,
  'a year by day, Asia/Kolkata': `period: { from: "${day(365)}", to: "${day(0)}" }, by: DAY, timeZone: "Asia/Kolkata"`,
  'five years by month': `period: { from: "${day(1825)}", to: "${day(0)}" }, by: MONTH`,
}

const selections = [
  'periods { from sales { value } }',
  'totals { value }',
  'consents { from given }',
  'topProducts(first: 10) { title value }',
  'outstanding { balance }',
  'expiring(withinDays: 30) { balance }',
  'status { vouchers }',
]

/** Each figure in each period. */
export const figures = Object.entries(periods).flatMap(([period, args]) =>
  [...selections, selections.join(' ')].map((selection, at) => {
    const name = at === selections.length ? 'all figures' : selection.replace(/\W.*/, '')
    return { name: `${name}, ${period}`, args, selection }
  }),
)
