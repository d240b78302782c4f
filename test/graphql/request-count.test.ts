import type { GraphQLError } from 'graphql'
import { expect, it } from 'vitest'
import { listExports } from '../../src/domain/record/export.ts'
import { globalId } from '../support/graphql.ts'
import { startService } from '../support/service.ts'
import { tokenRecordsOf } from '../support/token-records.ts'

const { build, client, pool, platform } = await startService()
const { served, countsOf, errorsOf, exportsOf } = tokenRecordsOf({ pool, platform })
const [tenantId, other] = [await build.tenant(), await build.tenant()]
const below = await build.tenant({ parent_id: tenantId })
const customers = [
  await build.customer(tenantId, { full_name: 'Ann Lee' }),
  await build.customer(tenantId),
  await build.customer(tenantId),
]
await build.customer(below)
await build.voucher(tenantId, { recipient_name: 'Zoë Quill', product_id: await build.product(tenantId) })
const [foreign, opposed] = [await build.customer(other), await build.customer(tenantId, { marketing_opted: false })]

const tenant = (selection: string) => `{ tenant(id: ${tenantId}) { ${selection} } }`
const signup = (id: number, of = tenantId) => globalId('MarketingSignup', of, id)

it('requests are counted by status, whatever the document is', async () => {
  const { id, secret } = await build.token([tenantId])
  await served(async client => {
    await client.graphql(secret, '{ viewer { name } }')
    await client.graphql(secret, '{ a: tenants { totalCount } b: tenants { totalCount } }')
    await client.graphql(secret, '{ nothing }')
    await client.ask({ method: 'PUT', url: '/graphql', headers: { authorization: `Bearer ${secret}` } })
  })
  expect(await countsOf(id)).toEqual({ 'GraphQL 200': 2, 'GraphQL 400': 1, 'GraphQL 405': 1 })
})

it('the errors in a response are counted, each distinct error once per request', async () => {
  const { id, secret } = await build.token([tenantId], { permissions: ['view_vouchers'] })
  await served(async client => {
    const failing = 'a: catalogVoucher(id: 987654) { id } b: catalogVoucher(id: 987655) { id }'
    await client.graphql(secret, tenant(`catalogVouchers(first: -1) { totalCount } ${failing}`))
    await client.graphql(secret, tenant(`purchasedVouchers { totalCount } ${failing}`))
  })
  expect(await countsOf(id)).toEqual({ 'GraphQL 200': 2 })
  expect(await errorsOf(id)).toEqual({
    'GraphQL BAD_USER_INPUT The request is not valid. Fields: first.': 1,
    'GraphQL NOT_FOUND No such catalog voucher.': 2,
    'GraphQL FORBIDDEN This token lacks the permission view_orders.': 1,
  })
})

it('the counted errors contain no text of the request', async () => {
  const { id, secret } = await build.token([tenantId])
  await served(async client => {
    const aliases = Array.from({ length: 40 }, (_, n) => `SENT${n}: viewer { name }`).join(' ')
    for (const query of ['{ SENT }', '{ SENT', `{ ${aliases} }`]) await client.graphql(secret, query)
    await client.graphql(secret, 'query ($n: Int) { tenants(first: $n) { totalCount } }', { n: 'SENT' })
    await client.post(secret, '{"SENT')
    await client.post(secret, { query: '{ viewer { name } }' }, { accept: 'SENT/SENT' })
  })
  const errors = Object.keys(await errorsOf(id))
  expect(errors.length).toBeGreaterThan(3)
  expect(errors.join()).not.toContain('SENT')
})

const ids = [...customers.map(id => signup(id)), signup(foreign, other), signup(opposed)]
const nodes = `nodes(ids: ${JSON.stringify(ids)})`

const searches = (text: string) => `purchasedVouchers(filter: { text: "${text}" }) { count { count } }`

it.each<[string, string, string[], number]>([
  ['a list', tenant('marketingSignups { nodes { email } }'), ['list'], 3],
  [
    'two lists',
    tenant('a: marketingSignups(first: 1) { nodes { id } } b: marketingSignups(last: 2) { nodes { id } }'),
    ['list'],
    3,
  ],
  ['a list below', tenant('marketingSignups(withDescendants: true) { nodes { email } }'), ['list', 'list below'], 4],
  ['a record', tenant(`marketingSignup(id: ${customers[0]}) { email }`), ['record'], 1],
  ['a node', `{ node(id: "${signup(customers[0]!)}") { ... on MarketingSignup { email } } }`, ['record'], 1],
  ['nodes, some of which are denied', `{ ${nodes} { ... on MarketingSignup { email } } }`, ['record'], 3],
  ['a text of a signup', tenant('marketingSignups(filter: { text: "lee" }, first: 0) { nextCursor }'), ['search'], 0],
  ['a text that no recipient has', tenant(searches('quilt')), ['voucher search'], 0],
  [
    'a text that is searched below',
    tenant('purchasedVouchers(filter: { text: "quill" }, withDescendants: true) { nextCursor }'),
    ['voucher search, with tenants below'],
    0,
  ],
  ['a text below products', tenant(`catalogVouchers { nodes { ${searches('quill')} } }`), ['voucher search'], 0],
  ['a blank text', tenant(searches(' ')), [], 0],
  ['a text in products', tenant('catalogVouchers(filter: { text: "tea" }) { nextCursor }'), [], 0],
  ['an empty page', tenant('marketingSignups(first: 0) { nodes { email } }'), [], 0],
  ['a record that is absent', tenant(`marketingSignup(id: ${opposed}) { email }`), [], 0],
])('exports of personal data and searches in it are recorded: %s', async (_, query, entries, records) => {
  const { id, secret } = await build.token([tenantId, below])
  await client.graphql(secret, query)
  const exported = await exportsOf(id)
  const operations = new Set(
    exported.map(({ tenantId: of, detail }) => `${detail.operation}${of === below ? ' below' : ''}`),
  )
  expect([...operations].sort()).toEqual(entries)
  expect(exported.filter(entry => ![tenantId, below].includes(entry.tenantId))).toEqual([])
  expect((await listExports(pool, id, 2)).reduce((total, day) => total + day.records, 0)).toBe(records)
})

it('personal data is not returned when the audit entry cannot be written', async () => {
  const { secret } = await build.token([tenantId])
  await platform`revoke insert on gateway.audit_entry from voucher_gateway`
  try {
    for (const [query, data] of [
      [tenant('marketingSignups { nodes { email } }'), { tenant: { marketingSignups: null } }],
      [tenant(`marketingSignup(id: ${customers[0]}) { email }`), { tenant: { marketingSignup: null } }],
      [tenant(searches('a')), { tenant: { purchasedVouchers: null } }],
      [`{ ${nodes} { id } }`, { nodes: [null, null, null, null, null] }],
    ] as const) {
      const { body } = await client.graphql(secret, query)
      expect(body.data).toEqual(data)
      expect(body.errors.map((error: GraphQLError) => error.extensions.code)).toContain('INTERNAL')
    }
  } finally {
    await platform`grant insert on gateway.audit_entry to voucher_gateway`
  }
})
