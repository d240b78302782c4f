import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { capture, namesOf } from './statements.ts'

/** The number of tenants below one. */
export const many = 1000

/** Creates a thousand tenants below one, with none to four records of each type; the tenant above has most records. */
export async function createManyTenants() {
  const { database, build, client } = await startService()
  const { loader } = database
  const root = await build.tenant({ updated_at: '2026-01-02T00:00:00Z' })
  const rows = await loader<{ id: number }[]>`
    insert into tenant (name, parent_id, updated_at)
    select 'Tenant ' || n, ${root}, timestamptz '2026-01-01Z' + n * interval '1 second'
    from generate_series(1, ${many}::int) n returning id`
  const tenants = rows.map(({ id }) => id)
  const first = tenants[0]!
  const owned = loader`
    from (select ${first} + n as tenant_id, record from generate_series(0, ${many - 1}::int) n, generate_series(1, n % 5) record
          union all select ${root}, record from generate_series(1, 20000) record) owned`
  const stamp = loader`timestamptz '2026-01-01Z' + record * interval '1 minute'`
  await loader`insert into purchased_voucher (tenant_id, reference, updated_at)
    select tenant_id, tenant_id || '-' || record, ${stamp} ${owned}`
  await loader`insert into product (tenant_id, slug, title, currency, updated_at)
    select tenant_id, 'p', tenant_id || '-' || record, 'GBP', case when record > 1 then ${stamp} end ${owned}`
  await loader`insert into customer (tenant_id, marketing_opted, forename, updated_at)
    select tenant_id, record <> 2, tenant_id || '-' || record, ${stamp} ${owned}`
  await loader`insert into gateway.removal (tenant_id, resource, record_id, reason, updated_at)
    select tenant_id, case when record % 2 = 0 then 'purchased_voucher' else 'marketing_signup' end, record, 'deleted', ${stamp} ${owned}`
  await loader`vacuum analyze tenant, product, purchased_voucher, customer, gateway.removal`
  // The removals have the stamp of a bulk load: they are listed from that time on.
  await loader`select pg_sleep(extract(epoch from max(stamp) - clock_timestamp())) from gateway.planned_stamp`

  // Grants the tenant above with all its descendants, and each of the others by itself.
  const { secret } = await build.token([whole(root)])
  const named = await build.token(tenants)

  const data = (query: string) => client.read(secret, query)

  /** Runs a query. Returns the result and the statements that it needs. */
  async function run(query: string, variables = {}, token = secret) {
    // biome-ignore lint/suspicious/noExplicitAny: the tests know the shape of the answer
    let answer: any
    const statements = await capture(database.pool, async () => {
      answer = (await client.graphql(token, query, variables)).body
    })
    // Background jobs run every two seconds.
    const own = statements.filter(({ name }) => /^(tenant|product|voucher|signup|removal|export)\./.test(name))
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

  return { database, client, build, root, tenants, secret, named, data, run, allTenants }
}
