import { mostCandidates } from '../../../src/domain/search/search-table.ts'
import { whole } from '../../support/builders.ts'
import { createJourney, type Journey, type Parts } from './journey.ts'
import { largeTableRows } from './seed.ts'

/** Reads a page of a list, by default of the tenant that owns half of all records. @returns the page */
async function read(
  { build, client }: Parts,
  list: string,
  args: string,
  tenantId = 1,
  selection = 'nodes { databaseId } pageInfo { endCursor hasNextPage }',
) {
  const { secret } = await build.token([1, whole(13)])
  const { body, text } = await client.graphql(
    secret,
    `{ tenant(id: ${tenantId}) { ${list}(${args}) { ${selection} } } }`,
  )
  if (body.errors) throw new Error(text)
  const page = body.data.tenant[list]
  if (page.nodes?.length === 0) throw new Error('found nothing')
  return page
}

const createPageRead =
  (...[list, args, tenantId, selection]: [string, string, number?, string?]) =>
  (parts: Parts) =>
    read(parts, list, args, tenantId, selection)

/** Functions that read the pages of a list for which different statements run. */
const pageReads: Record<string, (list: string, args: string) => (parts: Parts) => Promise<unknown>> = {
  '': createPageRead,
  ', the next page': (list, args) => async parts => {
    const { pageInfo } = await read(parts, list, `${args}, first: 1`)
    if (pageInfo.hasNextPage) await read(parts, list, `${args}, after: "${pageInfo.endCursor}"`)
  },
  ', the last page': (list, args) => createPageRead(list, `${args}, last: 20`),
}

/** The maximum number of rows that a step of a search may read: four per candidate, for indexes and texts. */
const mostRows = 4 * mostCandidates

/** Returns true when few rows match, so that the search uses the index of a filter and not the index of the order. */
const hasFewMatches = (what: string) =>
  /few have|few bought|few days|void|not yet|a price|category|monetary|source/.test(what)

const createJourneys = (list: string, noun: string, all: Record<string, string>, walks?: string): Journey[] =>
  Object.entries(all).flatMap(([what, args]) =>
    Object.entries(pageReads).map(([which, go]) => ({
      what: `${list}: ${what}${which}`,
      runs: [
        // A text of three letters has a trigram that few rows have.
        ...(/text: "\w{3}/.test(args) ? [`${noun}.search_sample`] : []),
        ...(/text: "\w{3}/.test(args) || hasFewMatches(what) ? [`${noun}.search_range`] : [`${noun}.search`]),
        ...(hasFewMatches(what) ? [`${noun}.search_sizes`] : []),
      ],
      go: go(list, args),
      mostRows,
      ...(walks !== undefined && { walks }),
    })),
  )

const matchedNumber = Math.floor(largeTableRows / 2)
const highestBalances = `{ from: ${largeTableRows / 10 - 10}, to: ${largeTableRows / 10} }`
const createOrders = (...fields: string[]) =>
  Object.fromEntries(
    fields.flatMap(field =>
      ['ASC', 'DESC'].map(way => [`${field} ${way}`, `orderBy: { field: ${field}, direction: ${way} }`]),
    ),
  )

/** The journeys of filtered and ordered lists. Their statements always get custom plans. */
export const search: Journey[] = [
  ...createJourneys('purchasedVouchers', 'voucher', {
    ...createOrders('UPDATED_AT', 'PURCHASED_AT', 'VALID_UNTIL'),
    'by balance': 'filter: { currency: "GBP" }, orderBy: { field: BALANCE, direction: DESC }',
    redeemable: 'filter: { status: [REDEEMABLE, PART_REDEEMED] }',
    'valid until, by the end': `filter: { validUntil: { from: "2020-03-01" }, status: [EXPIRED] },
      orderBy: { field: VALID_UNTIL }`,
    'valid on a day': 'filter: { validOn: { from: "2026-03-01", to: "2026-03-01" } }',
    'of a currency': 'filter: { currency: "GBP" }',
    'a balance that few have': `filter: { currency: "GBP", balance: ${highestBalances} }`,
    'purchased in a short time':
      'filter: { purchased: { from: "2026-01-01T00:00:00Z", before: "2026-01-01T00:10:00Z" } }, orderBy: { field: PURCHASED_AT }',
    'of a product that few bought': 'filter: { productId: 78 }',
    'a reference': `filter: { text: "R${matchedNumber}" }`,
    'a word and a name': 'filter: { text: "unicorn ann" }',
    'the beginning of a word': 'filter: { text: "ZZ" }',
    void: 'filter: { status: [VOID] }',
    'not yet valid': 'filter: { status: [NOT_YET_VALID] }',
    // The default order of the dashboard.
    ...Object.fromEntries(
      Object.entries({
        void: 'status: [VOID]',
        redeemable: 'status: [REDEEMABLE]',
        'not yet valid': 'status: [NOT_YET_VALID]',
        'of a product that few bought': 'productId: 78',
        'a word and a name': 'text: "unicorn ann"',
        'of a currency': 'currency: "GBP"',
      }).map(([what, filter]) => [
        `${what}, by purchase`,
        `filter: { ${filter} }, orderBy: { field: PURCHASED_AT, direction: DESC }`,
      ]),
    ),
  }),
  ...createJourneys('catalogVouchers', 'product', {
    ...createOrders('UPDATED_AT', 'TITLE', 'SORT_ORDER'),
    'by price': 'filter: { currency: "GBP" }, orderBy: { field: PRICE }',
    'a price': `filter: { currency: "GBP", price: ${highestBalances} }`,
    'of a category': `filter: { categoryId: ${matchedNumber} }`,
    monetary: 'filter: { isMonetary: true }, orderBy: { field: SORT_ORDER }',
    'a word': 'filter: { text: "unicorn" }',
  }),
  ...createJourneys('marketingSignups', 'customer', {
    ...createOrders('UPDATED_AT', 'CONSENTED_AT', 'NAME'),
    'of few days': 'filter: { consented: { from: "2026-01-01T00:00:00Z", before: "2026-01-01T00:10:00Z" } }',
    'of a source': 'filter: { source: "fair" }',
    'an address': `filter: { text: "ann${matchedNumber}@" }`,
  }),
  createJourney(
    'the fields that have a word',
    'voucher.search_range search.matched_fields',
    createPageRead('purchasedVouchers', 'filter: { text: "unicorn" }', 1, 'edges { matchedFields }'),
    { mostRows },
  ),
  createJourney(
    'the status of vouchers',
    'tenant.days',
    createPageRead('purchasedVouchers', 'first: 50', 1, 'nodes { status }'),
  ),
  ...[
    ['purchasedVouchers', 'voucher', 'status: [VOID]'],
    ['catalogVouchers', 'product', 'isMonetary: true, currency: "GBP"'],
    ['marketingSignups', 'customer', 'source: "fair"'],
  ].flatMap(([list = '', noun, filter]) => [
    createJourney(
      `a count of filtered ${list}`,
      `${noun}.search_count`,
      createPageRead(list, `filter: { ${filter} }, first: 1`, 1, 'count { count }'),
      { mostRows },
    ),
    createJourney(
      `${list} of a thousand tenants`,
      `${noun}.search`,
      createPageRead(list, 'withDescendants: true', 13),
      {
        walks: 'Reads the tree, and the beginning of a range of the index for each tenant.',
      },
    ),
  ]),
  createJourney(
    'void vouchers of a thousand tenants, by purchase',
    'voucher.search_range tenant.granted_days',
    createPageRead(
      'purchasedVouchers',
      'withDescendants: true, filter: { status: [VOID] }, orderBy: { field: PURCHASED_AT }',
      13,
      'count { count } edges { cursor }',
    ),
    { walks: 'Reads the tree, and the range of the index for each tenant.' },
  ),
]
