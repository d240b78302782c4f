import type { Permission } from '../../../src/domain/token/permission.ts'
import { exportList } from '../../export/support.ts'
import type { Answer } from '../../support/app.ts'
import { whole } from '../../support/builders.ts'
import { globalId } from '../../support/graphql.ts'
import { createJourney, type Journey, type Parts } from './journey.ts'

const readsGrantedTenants = 'Reads the list, and looks up each tenant among the tenants of the token.'
const readsCountedRows = 'A count reads all counted rows as a range of an index.'

/** The GraphQL field of each list, by the noun in the names of its statements. */
const fieldsByNoun = { product: 'catalogVouchers', voucher: 'purchasedVouchers', customer: 'marketingSignups' }
const listsOfTenant = Object.entries({ ...fieldsByNoun, removal: 'removals' })

/** Sends a REST request with a new token, for which the service has no cached data. */
const createRestRequest =
  (path: string, tenantId = 1) =>
  async ({ build, client }: Parts) =>
    succeed(await client.rest((await build.token([tenantId])).secret, path))

/** Exports the last records of a list, after a cursor that GraphQL returns. */
const createExport = (list: string) => async (parts: Parts) => {
  const { secret } = await parts.build.token([1])
  const query = `{ tenant(id: 1) { ${list}(last: 50) { pageInfo { startCursor } } } }`
  const found = succeed(await parts.client.graphql(secret, query)).body.data.tenant[list].pageInfo.startCursor
  const path = list.replace(/[A-Z]/, letter => `-${letter.toLowerCase()}`)
  succeed(await exportList(parts.client, secret, `/tenants/1/${path}?cursor=${found}`))
}

const createGraphqlRequest =
  (query: string, permissions?: Permission[]) =>
  async ({ build, client }: Parts) => {
    const { secret } = await build.token([whole(12), 1], permissions && { permissions })
    const answer = succeed(await client.graphql(secret, query))
    if (answer.body.errors) throw new Error(answer.text)
  }

const createResolution =
  (body: object) =>
  async ({ build, client }: Parts) =>
    succeed(await client.resolve((await build.token([1])).secret, 1, body))

/** Reads pages at both ends of a list, pages in its middle, and pages of records that changed since a time. */
const createPageReads = (list: string) => async (parts: Parts) => {
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

const createTenantQuery = (selection: string) => createGraphqlRequest(`{ tenant(id: 1) { ${selection} } }`)
const createChangesQuery = (args = '') => createGraphqlRequest(`{ changes${args} { serverTime } }`)
const sinceArguments = 'first: 1, updatedSince: "2026-01-02T00:00:00Z"'

const removalsQuery = '{ tenant(id: 1) { removals(last: 50) { nodes { recordId } } } }'
const childrenSelection = 'children { totalCount nodes { name } } back: children(last: 5) { nodes { name } }'
const yearArguments = 'from: "2026-01-01", to: "2026-12-31"'
const createFiguresSelection = (period: string, options: string) => `
  figures(period: { ${period} }, ${options}) {
    asOf periods { sales { value } } totals { value } consents { given } outstanding { balance }
    expiring(withinDays: 30) { balance } status { share } topProducts { title value }
  }`

export const integration: Journey[] = [
  createJourney(
    'a token of a tenant deep in the tree',
    'token.find tenant.paths',
    createRestRequest('/tenants/54321/catalog/vouchers', 54_321),
  ),
  createJourney('the list of tenants', 'tenant.list', createRestRequest('/tenants'), { walks: readsGrantedTenants }),
  ...Object.entries(fieldsByNoun).map(([noun, list]) =>
    createJourney(`pages of the list: ${noun}`, `${noun}.list`, createPageReads(list)),
  ),
  ...listsOfTenant.map(([noun, list]) =>
    createJourney(
      `a count of the list: ${noun}`,
      `${noun}.count`,
      createTenantQuery(`${list}(first: 1) { totalCount }`),
      {
        walks: readsCountedRows,
      },
    ),
  ),
  createJourney('pages of the list of tenants below one', 'tenant.list', createPageReads('tenants'), {
    walks: 'Reads all tenants of the token first, level by level.',
  }),
  createJourney('a count of tenants', 'tenant.count', createGraphqlRequest('{ tenants { totalCount } }'), {
    excused: readsGrantedTenants,
  }),
  createJourney(
    'the tenants below many',
    'tenant.children tenant.count_children',
    createGraphqlRequest(`{ tenants(first: 10) { nodes { ${childrenSelection} } } }`),
  ),
  createJourney('a tenant', 'tenant.find_many', createTenantQuery('name')),
  createJourney(
    'the figures of a tenant',
    'figures.read',
    createTenantQuery(createFiguresSelection(yearArguments, 'by: DAY')),
    {
      excused: 'Reads the entries of the tenant: a rollup of its own is for large ones with none below.',
    },
  ),
  createJourney(
    'the figures of a tenant with those below it',
    'figures.read',
    createGraphqlRequest(
      `{ tenant(id: 123) { ${createFiguresSelection(yearArguments, 'by: DAY, timeZone: "Asia/Kolkata", withDescendants: true')} } }`,
    ),
    { walks: 'Reads the tenants below, level by level, and a range for each of them.' },
  ),
  ...[
    ['catalog/vouchers', 'product', ' variant.of_products category.of_products'],
    ['sales/purchased-vouchers', 'voucher', ''],
    ['customers/marketing-signups', 'customer', ' export.record'],
  ].flatMap(([path, noun, others]) => [
    createJourney(`a page of ${path}`, `${noun}.list${others}`, createRestRequest(`/tenants/1/${path}`)),
    createJourney(`a record of ${path}`, `${noun}.find${others}`, createRestRequest(`/tenants/1/${path}/50000`)),
  ]),
  createJourney(
    'a count of products since',
    'product.count',
    createTenantQuery(`catalogVouchers(${sinceArguments}) { totalCount }`),
    {
      walks: readsCountedRows,
    },
  ),
  createJourney(
    'the products and the tenants of purchased vouchers',
    'product.find_by_ids tenant.find_many',
    createTenantQuery('purchasedVouchers(first: 100) { nodes { tenant { name parent { name } } product { title } } }'),
  ),
  createJourney(
    'the purchased vouchers of products',
    'voucher.search_range voucher.search_sizes',
    createTenantQuery(
      'catalogVouchers(first: 3) { nodes { purchasedVouchers(first: 5) { count { count } nextCursor } } }',
    ),
  ),
  ...[
    ['catalogVouchers', 'server_time.read product.chunk variant.of_products category.of_products rate_window.count'],
    ['purchasedVouchers', 'voucher.chunk export_lease.take export_lease.release'],
    ['marketingSignups', 'customer.chunk export.record'],
  ].map(([list = '', runs = '']) => createJourney(`an export of ${list}`, runs, createExport(list))),
  createJourney('the lists that changed: none', 'changes.read', createChangesQuery('(after: "2099-01-01T00:00:00Z")'), {
    mostRows: 100,
  }),
  createJourney('the lists that changed: all', 'changes.read', createChangesQuery(), { mostRows: 30_000 }),
  createJourney('the lists that changed of a tenant', 'changes.read', createChangesQuery('(tenantIds: [1])')),
  createJourney('removals', 'removal.list sync_state.read', createTenantQuery('removals { nodes { recordId } }')),
  createJourney(
    'removals of few among many',
    'removal.list',
    createGraphqlRequest(removalsQuery, ['export_customer_information']),
  ),
  createJourney(
    'the lists of many tenants',
    listsOfTenant.map(([noun]) => `${noun}.list_of_tenants`).join(' '),
    createGraphqlRequest(
      `{ tenants(first: 9) { nodes { ${listsOfTenant.map(
        ([, list]) => `${list}(last: 5) { nextCursor } of${list}: ${list}(first: 5) { nextCursor }`,
      )} } } }`,
    ),
  ),
  createJourney(
    'records by their global ids',
    'product.find_many voucher.find_many customer.find_many',
    createGraphqlRequest(
      `{ nodes(ids: ${JSON.stringify(
        ['CatalogVoucher', 'PurchasedVoucher', 'MarketingSignup'].flatMap(type => [
          globalId(type, 1, 50_000),
          globalId(type, 1, 60_002),
        ]),
      )}) { __typename } }`,
    ),
  ),
  ...[{ voucher_reference: 'r50000' }, { qr_token: 'Q50000' }].map(body =>
    createJourney(`resolving by ${Object.keys(body)}`, 'resolution.find', createResolution(body)),
  ),
  createJourney('resolving a voucher of another tenant', 'resolution.find', async ({ build, client }) => {
    const { secret } = await build.token([54_321])
    const { status } = await client.resolve(secret, 54_321, { voucher_reference: 'r50000' })
    if (status !== 404) throw new Error(`${status} instead of 404`)
  }),
]
