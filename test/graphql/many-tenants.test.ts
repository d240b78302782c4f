/** A thousand tenants below one root have up to four records of each type; the root has most of the records. */
import { expect, it } from 'vitest'
import { stampRecord, whole } from '../support/builders.ts'
import { globalId } from '../support/graphql.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { capture, namesOf } from './statements.ts'

const tenantCount = 1000

const { build, client, platform, pool } = await startService()
const root = await build.tenant()
const rows = await platform<{ id: number }[]>`
  insert into tenant (name, parent_id)
  select 'Tenant ' || n, ${root} from generate_series(1, ${tenantCount}::int) n returning id`
// The root has the latest stamp, so it is the last in lists of tenants.
await stampRecord(platform, 'tenant', root, '2099-01-01T00:00:00Z')
const tenants = rows.map(({ id }) => id)
const firstTenant = tenants[0]!
const owned = platform`
  from (select ${firstTenant} + n as tenant_id, record from generate_series(0, ${tenantCount - 1}::int) n, generate_series(1, n % 5) record
        union all select ${root}, record from generate_series(1, 20000) record) owned`
await platform`insert into purchased_voucher (tenant_id, reference) select tenant_id, tenant_id || '-' || record ${owned} order by record`
await platform`insert into product (tenant_id, slug, title, currency)
  select tenant_id, 'p', tenant_id || '-' || record, 'GBP' ${owned}`
await platform`insert into customer (tenant_id, marketing_opted, forename)
  select tenant_id, record <> 2, tenant_id || '-' || record ${owned}`
await projected(pool)
const stamp = platform`timestamptz '2026-01-01Z' + record * interval '1 minute'`
await platform`insert into gateway.removal (record, tenant_id, id, reason, updated_at)
  select (case when record % 2 = 0 then 'voucher' else 'customer' end)::gateway.record_type, tenant_id, 1000000 + record,
         'deleted', ${stamp} ${owned}`
await platform`vacuum analyze gateway.tenant, gateway.product, gateway.voucher, gateway.customer, gateway.removal`

// The first token has one grant: the root with all descendants. The second has one grant per descendant.
const { secret } = await build.token([whole(root)])
const tokenPerTenant = await build.token(tenants)

const data = (query: string) => client.read(secret, query)

async function runQuery(query: string, variables = {}, token = secret) {
  // biome-ignore lint/suspicious/noExplicitAny: the tests know the shape of the answer
  let answer: any
  const statements = await capture(pool, async () => {
    answer = (await client.graphql(token, query, variables)).body
  })
  // Statements of the background jobs, which run every two seconds, are left out.
  const own = statements.filter(({ name }) => /^(tenant|product|voucher|customer|removal|export)\./.test(name))
  return { answer, statements: own, names: namesOf(own) }
}

/** The cursors at the ends of pages of a hundred tenants. */
const cursors: string[] = []
const after = (page: number) => (page === 0 ? '' : `, after: "${cursors[page - 1]}"`)
for (let page = 0; page < tenantCount / 100; page++) {
  cursors.push((await data(`{ tenants(first: 100${after(page)}) { nextCursor } }`)).tenants.nextCursor)
}

/** Returns a query of all thousand tenants, in ten pages. */
const allTenantsQuery = (selection: string) =>
  `{ ${cursors.map((_, page) => `t${page}: tenants(first: 100${after(page)}) { ...Of }`).join(' ')} }
   fragment Of on TenantConnection { nodes { databaseId ${selection} } }`

const pages = Array<string>(tenantCount / 100).fill('tenant.list')

it.each([
  ['purchasedVouchers', 'voucher', 'nodes { reference }', []],
  ['catalogVouchers', 'product', 'nodes { title }', []],
  ['marketingSignups', 'customer', 'nodes { forename }', ['export.record']],
  ['removals', 'removal', 'nodes { recordId }', []],
])('one statement reads the %s of a thousand tenants, and another their counts', async (field, noun, nodes, more) => {
  const selection = `${field}(first: 1) { totalCount ${nodes} pageInfo { hasNextPage } }`
  const { answer, names } = await runQuery(allTenantsQuery(selection))
  expect(answer.errors).toBeUndefined()
  expect(names).toEqual([...more, `${noun}.count`, `${noun}.list_of_tenants`, ...pages].sort())
  const nodesOf = Object.values<{ nodes: { databaseId: number }[] }>(answer.data).flatMap(page => page.nodes)
  expect(nodesOf.map(({ databaseId }) => databaseId)).toEqual(tenants)
  for (const index of [0, 1, 2, 3, 499, 999]) {
    const { tenant } = await data(`{ tenant(id: ${tenants[index]}) { databaseId ${selection} } }`)
    expect(nodesOf[index]).toEqual(tenant)
  }
})

it('lists with different arguments return the same in one query as in a query per tenant', async () => {
  const pages = ['first: 2', 'last: 2', 'first: 0', 'last: 3, updatedSince: "2026-01-01T00:02:00Z"', 'first: 50']
  const list = (field: string, nodes: string) =>
    pages.map((args, n) => `${field}${n}: ${field}(${args}) { totalCount nodes { ${nodes} } pageInfo { hasNextPage } }`)
  const selection = [
    ...list('purchasedVouchers', 'databaseId reference updatedAt'),
    ...list('catalogVouchers', 'databaseId title updatedAt variants { id }'),
    ...list('marketingSignups', 'databaseId forename'),
    ...list('removals', 'recordId resource'),
  ]
  const choice = 'removals(resources: [MARKETING_SIGNUP]) { totalCount nodes { recordId } }'
  const fragment = `fragment All on Tenant { databaseId ${selection.join('\n')} ${choice} }`
  const { answer, names } = await runQuery(`{ tenants(first: 7) { nodes { ...All } } } ${fragment}`)
  expect(answer.errors).toBeUndefined()
  expect(answer.data.tenants.nodes).toHaveLength(7)
  for (const node of answer.data.tenants.nodes) {
    expect(node).toEqual((await data(`{ tenant(id: ${node.databaseId}) { ...All } } ${fragment}`)).tenant)
  }
  // One statement reads pages from the start, and another statement reads pages from the end.
  expect(names.filter(name => name === 'voucher.list_of_tenants')).toHaveLength(2)
  expect(names.length).toBeLessThanOrEqual(20)
})

it('a thousand grants are returned, listed, counted and found by their ids, with one statement each', async () => {
  const viewer = await runQuery('{ viewer { tenants { tenant { name } } } }', {}, tokenPerTenant.secret)
  expect(viewer.answer.data.viewer.tenants).toHaveLength(tenantCount)
  expect(viewer.names).toEqual(['tenant.find_many'])
  const ids = [...tenants.slice(0, 99).toReversed(), firstTenant].map(id => globalId('Tenant', id))
  const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Tenant { name } } }'
  const nodes = await runQuery(query, { ids }, tokenPerTenant.secret)
  expect(nodes.answer.data.nodes).toMatchObject(ids.map(id => ({ id })))
  expect(nodes.names).toEqual(['tenant.find_many'])
  const statements = await capture(pool, async () => {
    expect((await client.rest(tokenPerTenant.secret, '/tenants')).body.data).toHaveLength(50)
  })
  expect(namesOf(statements.filter(({ name }) => name.startsWith('tenant.')))).toEqual(['tenant.list'])
  const all = await build.token([whole(root), ...tenants.slice(0, 500).map(whole), ...tenants.slice(500)])
  expect(await client.read(all.secret, '{ tenants { totalCount } }')).toEqual({
    tenants: { totalCount: tenantCount + 1 },
  })
})
