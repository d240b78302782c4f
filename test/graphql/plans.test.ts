import { beforeAll, describe, expect, it } from 'vitest'
import postgres from '#postgres'
import { type Client, createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { capture, type Statement } from './statements.ts'

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

const lists = [
  { field: 'tenants', table: 'tenant', index: 'tenant_list', statement: 'tenant.list' },
  { field: 'catalogVouchers', table: 'product', index: 'product_list', statement: 'product.list' },
  {
    field: 'purchasedVouchers',
    table: 'purchased_voucher',
    index: 'purchased_voucher_list',
    statement: 'voucher.list',
  },
  { field: 'marketingSignups', table: 'customer', index: 'marketing_signup_list', statement: 'signup.list' },
]

const shapes = [
  { shape: 'first page', args: 'first: 50' },
  { shape: 'deep page', args: 'first: 50, after: $middle' },
  { shape: 'last page', args: 'last: 50' },
  { shape: 'deep page backward', args: 'last: 50, before: $middle' },
  { shape: 'page since', args: 'first: 50, updatedSince: "2026-01-01T16:00:00Z"' },
  { shape: 'deep page since', args: 'first: 50, after: $middle, updatedSince: "2026-01-01T01:00:00Z"' },
]

let database: TestDatabase
let client: Client
let secret: string
let tenantId: number

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  const build = createBuilders(database)
  tenantId = await build.tenant({ updated_at: '2026-01-01T00:00:00Z' })
  const other = await build.tenant()
  const { loader } = database
  const stamp = loader`timestamptz '2026-01-01Z' + n * interval '1 second'`
  // A tree with ten tenants below each. The token has one of the highest ten with all its descendants.
  await loader`insert into tenant (id, name, parent_id, updated_at)
    select n + 10, 'Below ' || n, case when n <= 10 then ${tenantId}::bigint else n / 10 + 10 end, ${stamp}
    from generate_series(1, 100000) n`
  secret = (await build.token([tenantId, { tenantId: 15, withDescendants: true }])).secret
  await loader`insert into product (tenant_id, slug, title, currency, updated_at)
    select case when n % 4 = 0 then ${other}::bigint else ${tenantId}::bigint end, 'p', 'P', 'GBP',
           case when n % 1000 > 0 then ${stamp} end
    from generate_series(1, 100000) n`
  await loader`insert into purchased_voucher (tenant_id, reference, updated_at)
    select case when n % 4 = 0 then ${other}::bigint else ${tenantId}::bigint end, 'R' || n, ${stamp}
    from generate_series(1, 100000) n`
  await loader`insert into customer (tenant_id, marketing_opted, updated_at)
    select case when n % 4 = 0 then ${other}::bigint else ${tenantId}::bigint end, n % 3 > 0, ${stamp}
    from generate_series(1, 100000) n`
  await loader`vacuum analyze tenant, product, purchased_voucher, customer`
})

/** The generic plan of the list's page, as the server reports it when the statement runs. */
async function planOf({ name, text, parameters }: Statement): Promise<Plan[]> {
  const notices: string[] = []
  const { url } = database
  const explained = postgres(url.replace(/\?.*/, ''), {
    host: database.address.host,
    max: 1,
    fetch_types: false,
    onnotice: notice => notices.push(notice.message ?? ''),
  })
  await explained.unsafe(`
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_analyze = on;
    set auto_explain.log_format = json;
    set plan_cache_mode = force_generic_plan;
    set client_min_messages = log`)
  await explained.unsafe(text, parameters.map(String))
  await explained.end()
  const plans = notices.filter(message => message.includes('plan:')).map(message => message.replace(/^[^{]*/, ''))
  const pages = plans.map(plan => JSON.parse(plan)).filter(plan => plan['Query Text'].includes(`/* ${name} */`))
  expect(pages).toHaveLength(1)
  const flatten = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flatten)]
  return flatten(pages[0].Plan)
}

async function pageStatement(field: string, args: string, middle: string | null, name: string): Promise<Statement> {
  const list = `${field}(${args}) { nodes { databaseId } }`
  const query = `query ($middle: String) { ${field === 'tenants' ? list : `tenant(id: ${tenantId}) { ${list} }`} }`
  const statements = await capture(database.pool, async () => {
    const { body } = await client.graphql(secret, query.replace(middle === null ? '($middle: String)' : /$^/, ''), {
      middle,
    })
    expect(body.errors).toBeUndefined()
    expect((body.data.tenant ?? body.data)[field].nodes).toHaveLength(50)
  })
  return statements.find(statement => statement.name === name)!
}

describe.each(lists)('$field', ({ field, table, index, statement }) => {
  let middle: string

  beforeAll(async () => {
    const list = `${field}(first: 100, updatedSince: "2026-01-01T10:00:00Z") { pageInfo { endCursor } }`
    const query = field === 'tenants' ? `{ ${list} }` : `{ tenant(id: ${tenantId}) { ${list} } }`
    const { body } = await client.graphql(secret, query)
    middle = (body.data.tenant ?? body.data)[field].pageInfo.endCursor
  })

  it.each(shapes)('reads a $shape as one range of its index', async ({ args }) => {
    const plan = await planOf(await pageStatement(field, args, args.includes('$middle') ? middle : null, statement))
    const scans = plan.filter(step => step['Index Name'] === index)
    expect(scans.map(step => step['Node Type'])).toEqual([expect.stringMatching(/^Index (Only )?Scan$/)])
    expect(scans[0]!['Index Cond']).toMatch(/ROW\(.*\) > ROW\(.*ROW\(.*\) < ROW\(/)
    expect(scans[0]!['Actual Rows']).toBe(51)
    // The tenants of the token are not a range: the rows between them are skipped.
    if (table !== 'tenant') expect(scans[0]!['Rows Removed by Filter'] ?? 0).toBe(0)
    expect(plan.map(step => step['Node Type'])).not.toContain('Sort')
    expect(plan.filter(step => step['Relation Name'] === table).map(step => step['Node Type'])).not.toContain(
      'Seq Scan',
    )
  })
})
