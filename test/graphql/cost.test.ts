import { expect, it } from 'vitest'
import { type Answer, remainingOf } from '../support/app.ts'
import { fresh } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

const limit = 60

const { build, client } = await startService({ RATE_LIMIT_PER_MINUTE: String(limit) })
const [tenantId, other] = [await build.tenant(), await build.tenant()]
await build.product(tenantId)

const newToken = async (options: { rateLimit?: number } = {}) => (await build.token([tenantId, other], options)).secret

const costOf = ({ body }: Answer) => body.extensions?.cost

/** Checks that the headers have the same values as the cost. */
function expectHeaders(answer: Answer): void {
  const resetsIn = Number(answer.headers['ratelimit-reset'])
  expect(costOf(answer)).toMatchObject({ remaining: remainingOf(answer), resetsIn })
}

const tenant = (selection: string) => `tenant(id: ${tenantId}) { ${selection} }`
const lists = 'catalogVouchers { totalCount } purchasedVouchers(first: 2) { totalCount }'
const links = 'purchasedVouchers { nodes { tenant { parent { name } } product { title } } }'
const pageQuery = 'query ($n: Int = 7) { tenants(first: $n) { nodes { catalogVouchers { totalCount } } } }'
const skipped = `query ($no: Boolean!) { ${tenant('catalogVouchers @skip(if: $no) { totalCount } purchasedVouchers { totalCount }')} }`
const ofNode = `{ node(id: "x") { ... on Tenant { ${lists} } ... on CatalogVoucher { title } } }`
const resolve = (input: string) => `resolveVoucher(input: { tenantId: ${tenantId} ${input} }) { status }`

it.each<[string, string, number, number, object?]>([
  ['the viewer', '{ viewer { name } }', 1, 1],
  ['introspection', '{ __schema { queryType { name } } }', 1, 1],
  ['a field named twice', `{ ${tenant(lists)} ${tenant('catalogVouchers { nodes { id } }')} }`, 2, 2],
  ['fragments', `{ a: ${tenant('...F')} b: ${tenant('...F')} } fragment F on Tenant { ${lists} }`, 4, 4],
  ['lists of two granted tenants', `{ viewer { tenants { tenant { ${lists} } } } }`, 4, 4],
  ['lists below edges', '{ tenants(last: 4) { edges { node { catalogVouchers { totalCount } } } } }', 5, 3],
  ['lists below a page of the default length', '{ tenants { nodes { catalogVouchers { totalCount } } } }', 51, 3],
  ['a page size in a variable', pageQuery, 4, 3, { n: 3 }],
  ['a page size in the default of a variable', pageQuery, 8, 3],
  ['children below a page', '{ tenants { nodes { children { nodes { name } } } } }', 51, 3],
  ['fields that lead to other records', `{ ${tenant(links)} }`, 1, 1],
  ['a list that is skipped', skipped, 1, 1, { no: true }],
  ['records by global ids', '{ node(id: "x") { id } nodes(ids: ["x", "y"]) { id } }', 3, 3],
  ['global ids in a variable', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', 3, 3, { ids: ['x', 'y', 'z'] }],
  ['the dearest type of an interface', ofNode, 3, 1],
  ['a list whose arguments are faulty', `{ ${tenant('catalogVouchers(first: -1) { totalCount }')} }`, 1, 1],
  ['aliases of a record', `{ ${tenant('a: catalogVoucher(id: 1) { id } b: catalogVoucher(id: 1) { id }')} }`, 2, 2],
  ['resolutions', `mutation { a: ${resolve('voucherReference: "x"')} b: ${resolve('')} }`, 2, 2],
])('the cost of a query: %s', async (_, query, requested, actual, variables) => {
  const secret = await newToken()
  // The second request uses the cached document.
  for (const left of [limit - actual, limit - 2 * actual]) {
    const answer = await client.graphql(secret, query, { ...variables })
    expect(costOf(answer)).toEqual({ requested, actual, remaining: left, resetsIn: fresh })
    expectHeaders(answer)
  }
})

it('an answer without a valid token contains no cost', async () => {
  const { status, headers, body } = await client.post('vgw_wrong', { query: '{ viewer { name } }' })
  expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer'])
  expect(body.errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])
  expect(body.extensions).toBeUndefined()
})

it('a field that costs more than the remaining units fails and uses them up', async () => {
  const secret = await newToken({ rateLimit: 4 })
  const figures = 'figures(period: { from: "2026-01-01", to: "2026-01-31" })'
  const query = `{ ${tenant(`${figures} { topProducts { value } totals { value } }`)} }`
  const answer = await client.graphql(secret, query)
  expect(answer.body.errors).toHaveLength(2)
  expect(answer.body.data.tenant.figures).toEqual({ topProducts: null, totals: null })
  expect(costOf(answer)).toEqual({ requested: 7, actual: 4, remaining: 0, resetsIn: fresh })
})

it('concurrent queries get exactly as many fields as the rate limit allows', async () => {
  const secret = await newToken()
  // Ten expensive requests: the maximum that a token may have under way.
  const seven = `{ ${[1, 2, 3, 4, 5, 6, 7].map(n => `f${n}: tenants(first: 1) { nodes { name } }`).join(' ')} }`
  const answers = await Promise.all(Array.from({ length: 10 }, () => client.graphql(secret, seven)))
  const served = answers.flatMap(({ body }) => Object.values(body.data ?? {})).filter(field => field !== null)
  expect(served).toHaveLength(limit)
})

it('a request beyond the rate is not charged', async () => {
  const secret = await newToken({ rateLimit: 1 })
  await client.graphql(secret, '{ viewer { name } }')
  const answer = await client.graphql(secret, `{ ${tenant(lists)} }`)
  expect(answer.status).toBe(429)
  expect(costOf(answer)).toEqual({ requested: 1, actual: 0, remaining: 0, resetsIn: fresh })
  expectHeaders(answer)
})
