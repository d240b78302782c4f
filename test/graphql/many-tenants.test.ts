/** A thousand tenants below one, with none to four records of each type; the tenant above has most records. */
import { describe, expect, it } from 'vitest'
import { stampRecord, whole } from '../support/builders.ts'
import { globalId } from '../support/graphql.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { capture, namesOf } from './statements.ts'

const many = 1000

const { database, build, client } = await startService()
const { platform } = database
const root = await build.tenant()
const rows = await platform<{ id: number }[]>`
  insert into tenant (name, parent_id)
  select 'Tenant ' || n, ${root} from generate_series(1, ${many}::int) n returning id`
// The tenant above is behind all others.
await stampRecord(platform, 'tenant', root, '2099-01-01T00:00:00Z')
const tenants = rows.map(({ id }) => id)
const first = tenants[0]!
const owned = platform`
  from (select ${first} + n as tenant_id, record from generate_series(0, ${many - 1}::int) n, generate_series(1, n % 5) record
        union all select ${root}, record from generate_series(1, 20000) record) owned`
await platform`insert into purchased_voucher (tenant_id, reference) select tenant_id, tenant_id || '-' || record ${owned} order by record`
await platform`insert into product (tenant_id, slug, title, currency)
  select tenant_id, 'p', tenant_id || '-' || record, 'GBP' ${owned}`
await platform`insert into customer (tenant_id, marketing_opted, forename)
  select tenant_id, record <> 2, tenant_id || '-' || record ${owned}`
await projected(database.pool)
const stamp = platform`timestamptz '2026-01-01Z' + record * interval '1 minute'`
await platform`insert into gateway.removal (record, tenant_id, id, reason, updated_at)
  select (case when record % 2 = 0 then 'voucher' else 'customer' end)::gateway.record_type, tenant_id, 1000000 + record,
         'deleted', ${stamp} ${owned}`
await platform`vacuum analyze gateway.tenant, gateway.product, gateway.voucher, gateway.customer, gateway.removal`

// Grants the tenant above with all its descendants, and each of the others by itself.
const { secret } = await build.token([whole(root)])
const named = await build.token(tenants)

const data = (query: string) => client.read(secret, query)

async function run(query: string, variables = {}, token = secret) {
  // biome-ignore lint/suspicious/noExplicitAny: the tests know the shape of the answer
  let answer: any
  const statements = await capture(database.pool, async () => {
    answer = (await client.graphql(token, query, variables)).body
  })
  // Background jobs run every two seconds.
  const own = statements.filter(({ name }) => /^(tenant|product|voucher|customer|removal|export)\./.test(name))
  return { answer, statements: own, names: namesOf(own) }
}

/** The cursors after which each hundred of the tenants begins. */
const cursors: string[] = []
const after = (page: number) => (page === 0 ? '' : `, after: "${cursors[page - 1]}"`)
for (let page = 0; page < many / 100; page++) {
  cursors.push((await data(`{ tenants(first: 100${after(page)}) { nextCursor } }`)).tenants.nextCursor)
}

/** Selects all thousand tenants, in ten pages of one query. */
const allTenants = (selection: string) =>
  `{ ${cursors.map((_, page) => `t${page}: tenants(first: 100${after(page)}) { ...Of }`).join(' ')} }
   fragment Of on TenantConnection { nodes { databaseId ${selection} } }`

const pages = Array<string>(many / 100).fill('tenant.list')

describe('a thousand tenants in one query', () => {
  it.each([
    ['purchasedVouchers', 'voucher', 'nodes { reference }', []],
    ['catalogVouchers', 'product', 'nodes { title }', []],
    ['marketingSignups', 'customer', 'nodes { forename }', ['export.record']],
    ['removals', 'removal', 'nodes { recordId }', []],
  ])('reads %s and their lengths in a statement each', async (field, noun, nodes, more) => {
    const selection = `${field}(first: 1) { totalCount ${nodes} pageInfo { hasNextPage } }`
    const { answer, names } = await run(allTenants(selection))
    expect(answer.errors).toBeUndefined()
    expect(names).toEqual([...more, `${noun}.count`, `${noun}.list_of_tenants`, ...pages].sort())
    const nodesOf = Object.values<{ nodes: { databaseId: number }[] }>(answer.data).flatMap(page => page.nodes)
    expect(nodesOf.map(({ databaseId }) => databaseId)).toEqual(tenants)
    for (const index of [0, 1, 2, 3, 499, 999]) {
      const { tenant } = await data(`{ tenant(id: ${tenants[index]}) { databaseId ${selection} } }`)
      expect(nodesOf[index]).toEqual(tenant)
    }
  })

  it('reads records by id in one statement', async () => {
    const [{ id }] = await database.pool<[{ id: number }]>`
      select id from gateway.voucher where tenant_id = ${tenants[1]!}`
    const { answer, names } = await run(
      `{ tenants(first: 100) { nodes { purchasedVoucher(id: ${id}) { reference } } } }`,
    )
    expect(names).toEqual(['tenant.list', 'voucher.find_many'])
    const found = answer.data.tenants.nodes.map((node: { purchasedVoucher: object | null }) => node.purchasedVoucher)
    expect(found).toEqual(found.map((_: null, at: number) => (at === 1 ? { reference: `${tenants[1]}-1` } : null)))
    expect(answer.errors).toHaveLength(99)
  })
})

it('returns for lists of any arguments what each returns alone', async () => {
  const list = (field: string, nodes: string) => (args: string, at: number) =>
    `${field}${at}: ${field}${args} { totalCount nodes { ${nodes} } pageInfo { hasNextPage hasPreviousPage } }`
  const selection = [
    list('purchasedVouchers', 'databaseId reference updatedAt'),
    list('catalogVouchers', 'databaseId title updatedAt variants { id }'),
    list('marketingSignups', 'databaseId forename'),
    list('removals', 'recordId resource'),
  ].flatMap(write =>
    ['(first: 2)', '(last: 2)', '(first: 0)', '(last: 3, updatedSince: "2026-01-01T00:02:00Z")', ''].map(write),
  )
  const choice = 'removals(resources: [MARKETING_SIGNUP]) { totalCount nodes { recordId } }'
  const fragment = `fragment All on Tenant { databaseId ${selection.join('\n')} ${choice} }`
  const { answer, names } = await run(`{ tenants(first: 7) { nodes { ...All } } } ${fragment}`)
  expect(answer.errors).toBeUndefined()
  expect(answer.data.tenants.nodes).toHaveLength(7)
  for (const node of answer.data.tenants.nodes) {
    expect(node).toEqual((await data(`{ tenant(id: ${node.databaseId}) { ...All } } ${fragment}`)).tenant)
  }
  // Pages from the start take one statement, and pages from the end another.
  expect(names.filter(name => name === 'voucher.list_of_tenants')).toHaveLength(2)
  expect(names.length).toBeLessThanOrEqual(20)
})

it('continues each list from its own cursor, and rejects cursors of other lists', async () => {
  const [one, other] = [tenants[3]!, tenants[4]!]
  const list = (args: string) => `purchasedVouchers(${args}) { nodes { reference } pageInfo { startCursor endCursor } }`
  const found = await data(
    `{ a: tenant(id: ${one}) { ${list('first: 1')} } b: tenant(id: ${other}) { ${list('last: 1')} } }`,
  )
  const variables = {
    after: found.a.purchasedVouchers.pageInfo.endCursor,
    before: found.b.purchasedVouchers.pageInfo.startCursor,
  }
  const { answer } = await run(
    `query ($after: String, $before: String) {
      a: tenant(id: ${one}) { purchasedVouchers(first: 1, after: $after) { nodes { reference } } }
      b: tenant(id: ${other}) { purchasedVouchers(last: 2, before: $before) { nodes { reference } } }
      c: tenant(id: ${other}) { purchasedVouchers(first: 1, after: $after) { nodes { reference } } }
    }`,
    variables,
  )
  const nodes = (...references: string[]) => ({
    purchasedVouchers: { nodes: references.map(reference => ({ reference })) },
  })
  expect(answer.data).toEqual({
    a: nodes(`${one}-2`),
    b: nodes(`${other}-2`, `${other}-3`),
    c: { purchasedVouchers: null },
  })
  expect(answer.errors).toMatchObject([{ path: ['c', 'purchasedVouchers'], extensions: { code: 'BAD_USER_INPUT' } }])
})

it('a thousand grants are returned, and their tenants listed, in one statement', async () => {
  const viewer = await run('{ viewer { tenants { tenant { name } } } }', {}, named.secret)
  expect(viewer.answer.data.viewer.tenants).toHaveLength(many)
  expect(viewer.names).toEqual(['tenant.find_many'])
  const ids = tenants.slice(0, 100).map(id => globalId('Tenant', id))
  const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Tenant { name } } }'
  const nodes = await run(query, { ids }, named.secret)
  expect(nodes.answer.data.nodes.filter(Boolean)).toHaveLength(100)
  expect(nodes.names).toEqual(['tenant.find_many'])
  const statements = await capture(database.pool, async () => {
    expect((await client.rest(named.secret, '/tenants')).body.data).toHaveLength(50)
  })
  expect(namesOf(statements.filter(({ name }) => name.startsWith('tenant.')))).toEqual(['tenant.list'])
})
