import type { Pool } from '../../src/db/sql.ts'
import type { Call } from '../harness/contenders.ts'
import type { Variables } from '../harness/operations.ts'
import { type Size, treeOf } from '../harness/seed.ts'

const pages = 120
const records = 1000
const deepPages = 40
const pageSize = 50

/** Reads the ids and the stamps that the calls request. */
export async function readCalls(sql: Pool, size: Size): Promise<Call[]> {
  // The order by a hash is the same in each run, and similar to a random order.
  const starts = (table: string) => sql<Variables[]>`
    select tenant_id as tenant, updated_at as updated_since from ${sql(table)} order by hashint8(id) limit ${pages}`
  const named = (column: string) => sql<Variables[]>`
    select tenant_id as tenant, ${sql.unsafe(column)} from gateway.voucher order by hashint8(id) limit ${records}`
  const largest = treeOf(size).firstLeaf
  /** The stamps at some positions, counted from the end of each tenant's list. */
  const ends = (condition: string) => sql<Variables[]>`
    select tenant, updated_since from (
      select tenant_id as tenant, updated_at as updated_since,
             row_number() over (partition by tenant_id order by updated_at desc, id desc) as place
      from gateway.voucher
    ) listed where ${sql.unsafe(condition)} order by place, tenant`
  const list = 'ListPurchasedVouchers'
  const lastPages = `place % ${pageSize} = 0 and place between ${2 * pageSize} and ${deepPages * pageSize}`
  return [
    { name: 'vouchers', operation: list, samples: await starts('gateway.voucher'), afterCursor: true },
    { name: 'products', operation: 'ListCatalogVouchers', samples: await starts('gateway.product'), afterCursor: true },
    { name: 'voucher', operation: 'GetPurchasedVoucher', samples: await named('id as voucher') },
    { name: 'resolution', operation: 'ResolveVoucher', samples: await named('reference as voucher_reference') },
    { name: 'first', operation: list, samples: [{ tenant: largest }] },
    { name: 'last', operation: list, samples: await ends(`tenant = ${largest} and ${lastPages}`), afterCursor: true },
    // The answer to an integration that polls rarely: a few changes.
    { name: 'incremental', operation: list, samples: await ends('place in (3, 11, 26, 45)') },
  ]
}
