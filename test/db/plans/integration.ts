import type { Permission } from '../../../src/domain/token/permission.ts'
import { exportList } from '../../export/support.ts'
import type { Answer } from '../../support/app.ts'
import { whole } from '../../support/builders.ts'
import type { Journey, Parts } from './journey.ts'

const amongGranted = 'Reads the list, and looks up each tenant among those of the token.'
const counted = 'A count reads all counted rows as a range of an index.'

/** The lists of records, by the nouns of their statements. */
const lists = { product: 'catalogVouchers', voucher: 'purchasedVouchers', signup: 'marketingSignups' }
const listsOfTenant = Object.entries({ ...lists, removal: 'removals' })

/** A REST request with a new token, for which nothing is cached. */
const rest =
  (path: string, tenantId = 1) =>
  async ({ build, client }: Parts) =>
    succeed(await client.rest((await build.token([tenantId])).secret, path))

/** The last records of a list in an export: behind a cursor of GraphQL. */
const exporting = (list: string) => async (parts: Parts) => {
  const { secret } = await parts.build.token([1])
  const query = `{ tenant(id: 1) { ${list}(last: 50) { pageInfo { startCursor } } } }`
  const found = succeed(await parts.client.graphql(secret, query)).body.data.tenant[list].pageInfo.startCursor
  const path = list.replace(/[A-Z]/, letter => `-${letter.toLowerCase()}`)
  succeed(await exportList(parts.client, secret, `/tenants/1/${path}?cursor=${found}`))
}

const graphql =
  (query: string, permissions?: Permission[]) =>
  async ({ build, client }: Parts) => {
    const { secret } = await build.token([whole(12), 1], permissions && { permissions })
    const answer = succeed(await client.graphql(secret, query))
    if (answer.body.errors) throw new Error(answer.text)
  }

const resolving =
  (body: object) =>
  async ({ build, client }: Parts) =>
    succeed(await client.resolve((await build.token([1])).secret, 1, body))

/** Reads pages of a list from both ends, from deep within it, and since an instant. */
const pagesOf = (list: string) => async (parts: Parts) => {
  const { secret } = await parts.build.token([whole(12), 1])
  const read = async (args: string, length: number) => {
    const selection = `${list}(${args}) { nodes { __typename } pageInfo { endCursor } }`
    const query = list === 'tenants' ? `{ ${selection} }` : `{ tenant(id: 1) { ${selection} } }`
    const data = await parts.client.read(secret, query)
    const { nodes, pageInfo } = (data.tenant ?? data)[list]
    if (nodes.length !== length) throw new Error(`${nodes.length} instead of ${length} with ${args}`)
    return pageInfo.endCursor
  }
  const middle = JSON.stringify(await read('first: 100, updatedSince: "2026-01-01T03:00:00Z"', 100))
  for (const args of ['first: 50', 'last: 50', `first: 50, after: ${middle}`, `last: 50, before: ${middle}`]) {
    await read(args, 50)
  }
  for (const args of ['', `after: ${middle},`])
    await read(`${args} first: 50, updatedSince: "2026-01-01T02:00:00Z"`, 50)
}

function succeed(answer: Answer): Answer {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer
}

const ofTenant = (selection: string) => graphql(`{ tenant(id: 1) { ${selection} } }`)
const since = 'first: 1, updatedSince: "2026-01-02T00:00:00Z"'

const figures = (period: string, options: string) => `
  figures(period: { ${period} }, ${options}) {
    asOf periods { sales { value } } totals { value } consents { given } outstanding { balance }
    expiring(withinDays: 30) { balance } status { share } topProducts { title value }
  }`

export const integration: Journey[] = [
  {
    what: 'a token of a tenant deep in the tree',
    runs: ['token.find', 'tenant.paths'],
    go: rest('/tenants/54321/catalog/vouchers', 54_321),
  },
  { what: 'the list of tenants', runs: ['watermark.read', 'tenant.list'], go: rest('/tenants'), walks: amongGranted },
  ...Object.entries(lists).map(([noun, list]) => ({
    what: `pages of the list: ${noun}`,
    runs: [`${noun}.list`],
    go: pagesOf(list),
  })),
  ...listsOfTenant.map(([noun, list]) => ({
    what: `a count of the list: ${noun}`,
    runs: [`${noun}.count`],
    go: ofTenant(`${list}(first: 1) { totalCount }`),
    walks: counted,
  })),
  {
    what: 'pages of the list of tenants below one',
    runs: ['tenant.list'],
    go: pagesOf('tenants'),
    walks: 'Reads all tenants of the token first, level by level.',
  },
  {
    what: 'a count of tenants',
    runs: ['tenant.count'],
    go: graphql('{ tenants { totalCount } }'),
    excused: amongGranted,
  },
  {
    what: 'the tenants below many',
    runs: ['tenant.children', 'tenant.count_children'],
    go: graphql(
      '{ tenants(first: 10) { nodes { children { totalCount nodes { name } } back: children(last: 5) { nodes { name } } } } }',
    ),
  },
  { what: 'a tenant', runs: ['tenant.find_many'], go: ofTenant('name') },
  {
    what: 'the figures of a tenant',
    runs: ['figures.read'],
    go: ofTenant(figures('from: "2026-01-01", to: "2026-12-31"', 'by: DAY')),
    excused: 'Reads the entries of the tenant: a rollup of its own is for large ones with none below.',
  },
  {
    what: 'the figures of a tenant with those below it',
    runs: ['figures.read'],
    go: graphql(
      `{ tenant(id: 123) { ${figures('from: "2026-01-01", to: "2026-12-31"', 'by: DAY, timeZone: "Asia/Kolkata", withDescendants: true')} } }`,
    ),
    walks: 'Reads the tenants below, level by level, and a range for each of them.',
  },
  ...[
    ['catalog/vouchers', 'product', 'variant.of_products', 'category.of_products'],
    ['sales/purchased-vouchers', 'voucher'],
    ['customers/marketing-signups', 'signup', 'export.record'],
  ].flatMap(([path, noun, ...others]) => [
    { what: `a page of ${path}`, runs: [`${noun}.list`, ...others], go: rest(`/tenants/1/${path}`) },
    { what: `a record of ${path}`, runs: [`${noun}.find`, ...others], go: rest(`/tenants/1/${path}/50000`) },
  ]),
  {
    what: 'a count of products since',
    runs: ['product.count'],
    go: ofTenant(`catalogVouchers(${since}) { totalCount }`),
    walks: counted,
  },
  {
    what: 'the products and the tenants of purchased vouchers',
    runs: ['product.find_by_ids', 'tenant.find_many'],
    go: ofTenant('purchasedVouchers(first: 100) { nodes { tenant { name parent { name } } product { title } } }'),
  },
  {
    what: 'the purchased vouchers of products',
    runs: ['voucher.search_range', 'voucher.search_count'],
    go: ofTenant('catalogVouchers(first: 3) { nodes { purchasedVouchers(first: 5) { count { count } nextCursor } } }'),
  },
  ...[
    ['catalogVouchers', 'product.chunk', 'variant.of_products', 'category.of_products', 'rate_window.count'],
    ['purchasedVouchers', 'voucher.chunk', 'export_lease.take', 'export_lease.release'],
    ['marketingSignups', 'signup.chunk', 'export.record'],
  ].map(([list = '', ...runs]) => ({ what: `an export of ${list}`, runs, go: exporting(list) })),
  { what: 'removals', runs: ['removal.list', 'sync_state.read'], go: ofTenant('removals { nodes { recordId } }') },
  {
    what: 'removals of few among many',
    runs: ['removal.list'],
    go: graphql('{ tenant(id: 1) { removals(last: 50) { nodes { recordId } } } }', ['export_customer_information']),
  },
  {
    what: 'the lists of many tenants',
    runs: listsOfTenant.map(([noun]) => `${noun}.list_of_tenants`),
    go: graphql(
      `{ tenants(first: 9) { nodes { ${listsOfTenant
        .map(([, list]) => `${list}(last: 5) { nextCursor } of${list}: ${list}(first: 5) { nextCursor }`)
        .join(' ')} } } }`,
    ),
  },
  {
    what: 'records by their global ids',
    runs: Object.keys(lists).map(noun => `${noun}.find_many`),
    go: graphql(
      `{ nodes(ids: [${['CatalogVoucher', 'PurchasedVoucher', 'MarketingSignup']
        .flatMap(type => [`${type}:1.50000`, `${type}:1.60002`])
        .map(id => `"${Buffer.from(id).toString('base64url')}"`)}]) { __typename } }`,
    ),
  },
  ...[{ voucher_reference: 'r50000' }, { qr_token: 'Q50000' }].map(body => ({
    what: `resolving by ${Object.keys(body)}`,
    runs: ['resolution.find', 'redemption_token.issue'],
    go: resolving(body),
  })),
  {
    what: 'resolving a voucher of another tenant',
    runs: ['resolution.find'],
    go: async ({ build, client }) => {
      const { secret } = await build.token([54_321])
      const { status } = await client.resolve(secret, 54_321, { voucher_reference: 'r50000' })
      if (status !== 404) throw new Error(`${status} instead of 404`)
    },
  },
]
