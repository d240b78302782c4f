import { connect } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { SeededDatabase } from './database.ts'
import { rootTenant, seed, type sizes } from './seed.ts'

/** How much there is of what the seeded database has little of. */
export const largeSizes = {
  full: { tenants: 100_000, entries: 1_000_000 },
  short: { tenants: 1_000, entries: 10_000 },
} satisfies Record<keyof typeof sizes, object>

const name = 'bench_large'

/** A database beside the seeded one, on its server. */
export interface LargeDatabase {
  address: SeededDatabase['address']
  url: string
  secret: string
}

/** Removes what `makeLarge` made. */
export const dropLarge = ({ sql }: SeededDatabase) => sql.unsafe(`drop database if exists ${name} with (force)`)

/** Makes a database with a tree of many tenants, ten below each, all granted to one token; and with a long audit. */
export async function makeLarge(beside: SeededDatabase, size: keyof typeof sizes): Promise<LargeDatabase> {
  const { tenants, entries } = largeSizes[size]
  await dropLarge(beside)
  await beside.sql.unsafe(`create database ${name}`)
  const address = { ...beside.address, database: name }
  const sql = connect(address, { max: 1, statementTimeoutMs: 0 })
  try {
    await migrate(sql)
    const secret = await seed(sql, { products: 20, vouchers: 20 }, () => {})
    await sql`
      insert into tenant (id, name, parent_id, updated_at)
      select n + 1000, 'Below ' || n, case when n <= 10 then ${rootTenant}::bigint else n / 10 + 1000 end,
             timestamptz '2024-01-01Z' + n * interval '1 minute'
      from generate_series(1, ${tenants}::bigint) n`
    // One entry in twenty changes what a token may see; the others say that personal data were given out.
    await sql`
      insert into gateway.audit_entry (at, actor, address, action, token_id, tenant_id, detail)
      select timestamptz '2024-01-01Z' + n * interval '1 minute', 'token ' || n % 50 || ' (Integration)', '192.0.2.1',
             case when n % 20 = 0 then 'token.edit' else 'customer.export' end, n % 50,
             case when n % 20 > 0 then 1 + n % 20 end,
             case when n % 20 > 0 then jsonb_build_object('records', 50, 'operation', 'list', 'requestId', md5(n::text))
                  else jsonb_build_object('tenants', jsonb_build_object('added',
                         jsonb_build_array(jsonb_build_object('tenantId', n, 'withDescendants', true)))) end
      from generate_series(1, ${entries}::bigint) n`
    await sql`vacuum (analyze)`
    await sql`checkpoint`
    return { address, url: beside.url.replace(`/${beside.address.database}?`, `/${name}?`), secret }
  } finally {
    await sql.end()
  }
}
