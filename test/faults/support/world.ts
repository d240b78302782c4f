/**
 * Tenants with one caller each. Texts of a record contain the id of its tenant, so that a foreign record is detected.
 */
import { join } from 'node:path'
import { migrate } from '../../../src/db/migration/migrate.ts'
import type { Pool } from '../../../src/db/sql.ts'
import type { RecordProblem } from '../../../src/projection/check.ts'
import { v1 } from '../../support/app.ts'
import { createTestToken, whole } from '../../support/builders.ts'
import { connect } from '../../support/connect.ts'
import { projected } from '../../support/projected.ts'
import { findRecordProblems } from '../../support/record-problems.ts'
import type { FaultServer } from './server.ts'

export interface Operation {
  name: string
  method: 'GET' | 'POST'
  path: string
  secret: string
  body?: string
}

/** A tenant, the token of its caller, and the requests that the caller sends. */
export interface TenantCaller {
  tenantId: number
  secret: string
  voucherIds: readonly number[]
  operations: readonly Operation[]
}

/** The methods of a server that this file uses. */
type Databases = Pick<FaultServer, 'url' | 'use'>

export interface World {
  database: string
  owners: readonly TenantCaller[]
}

/** The number of tenants, and the numbers of records per tenant. */
const size = { owners: 4, vouchers: 300, products: 20, customers: 60 }

/**
 * Creates a migrated database on a running server.
 *
 * @param fill inserts the rows of the platform
 * @param options of the migration
 * @returns what `fill` returns
 */
export async function createMigrated<Result>(
  server: Databases,
  database: string,
  fill: (pool: Pool) => PromiseLike<Result>,
  options?: Parameters<typeof migrate>[1],
): Promise<Result> {
  await server.use('postgres', sql => sql.unsafe(`create database ${database}`))
  const pool = connect(server.url(database), { max: 2, statementTimeoutMs: 0 })
  try {
    await migrate(pool, options)
    return await fill(pool)
  } finally {
    await pool.end({ timeout: 1 })
  }
}

/** Writes the records of all committed changes of a database. @returns the records that differ from their sources */
export async function writeRecords(server: Databases, database: string): Promise<RecordProblem[]> {
  const pool = connect(server.url(database), { max: 1, statementTimeoutMs: 0 })
  await projected(pool)
  const problems = await findRecordProblems(pool)
  await pool.end({ timeout: 1 })
  return problems
}

export const createWorld = (server: Databases, database: string): Promise<World> =>
  createMigrated(server, database, async pool => {
    const owners: TenantCaller[] = []
    for (let count = 0; count < size.owners; count++) owners.push(await createOwner(pool))
    return { database, owners }
  })

export function operationOf({ owners }: World, name: string): Operation {
  const operation = owners[0]?.operations.find(each => each.name === name)
  if (!operation) throw new Error(`There is no operation ${name}.`)
  return operation
}

async function createOwner(sql: Pool): Promise<TenantCaller> {
  const ids = (rows: readonly { id: unknown }[]) => rows.map(({ id }) => Number(id))
  const [tenantId = 0] = ids(await sql`insert into tenant (name) values ('new') returning id`)
  const mark = `owner-${tenantId}-`
  await sql`update tenant set name = ${`${mark}tenant`} where id = ${tenantId}`
  const voucherIds = ids(
    await sql`
      insert into purchased_voucher
        (tenant_id, reference, product_title, current_balance, initial_balance, currency, is_monetary)
      select ${tenantId}, ${mark}::text || number, ${mark}::text || 'voucher', 10, 10, 'GBP', true
      from generate_series(1, ${size.vouchers}) as number returning id`,
  )
  const productIds = ids(
    await sql`
      insert into product (tenant_id, slug, title, currency)
      select ${tenantId}, ${mark}::text || number, ${mark}::text || 'product', 'GBP'
      from generate_series(1, ${size.products}) as number returning id`,
  )
  const customerIds = ids(
    await sql`
      insert into customer (tenant_id, surname, marketing_opted)
      select ${tenantId}, ${mark}::text || number, true from generate_series(1, ${size.customers}) as number returning id`,
  )
  const { secret } = await createTestToken(sql, [whole(tenantId)], { name: `${mark}token`, rateLimit: 1_000_000 })
  const tenant = `${v1}/tenants/${tenantId}`
  const get = (name: string, path: string): Operation => ({ name, method: 'GET', path: join(tenant, path), secret })
  const query = `{ tenant(id: "${tenantId}") { name catalogVouchers(first: 5) { nodes { title variants { title } } } } }`
  return {
    tenantId,
    secret,
    voucherIds,
    operations: [
      { name: 'tenants', method: 'GET', path: `${v1}/tenants`, secret },
      get('vouchers', 'sales/purchased-vouchers'),
      get('voucher', `sales/purchased-vouchers/${voucherIds[0]}`),
      get('products', 'catalog/vouchers'),
      get('product', `catalog/vouchers/${productIds[0]}`),
      get('signups', 'customers/marketing-signups'),
      get('signup', `customers/marketing-signups/${customerIds[0]}`),
      {
        name: 'resolution',
        method: 'POST',
        path: `${tenant}/redemptions/resolve`,
        secret,
        body: JSON.stringify({ voucher_reference: `${mark}1` }),
      },
      { name: 'graphql', method: 'POST', path: '/graphql', secret, body: JSON.stringify({ query }) },
    ],
  }
}
