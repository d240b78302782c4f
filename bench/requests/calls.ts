import type { Pool } from '../../src/db/sql.ts'
import type { OperationName, Sample } from '../harness/operations.ts'
import { type Size, treeOf } from '../harness/seed.ts'

/** Requests of one kind, sent in turn. */
export interface Call {
  name: string
  title: string
  operation: OperationName
  samples: Sample[]
  /** The page after the sample's is requested, by its cursor. */
  afterCursor?: boolean
}

const pages = 120
const records = 1000
const deepPages = 40
const pageSize = 50

/** Reads the ids and the stamps that the calls request. */
export async function readCalls(sql: Pool, size: Size): Promise<Call[]> {
  // The order of a hash is the same in each run, and looks random.
  const starts = (table: string) => sql<Sample[]>`
    select tenant_id as tenant, updated_at as "updatedSince" from ${sql(table)} order by hashint8(id) limit ${pages}`
  const named = await sql<{ tenant: number; id: number; reference: string }[]>`
    select tenant_id as tenant, id, reference from gateway.voucher order by hashint8(id) limit ${records}`
  const largest = treeOf(size).firstLeaf
  const [total] = await sql<{ count: number }[]>`
    select count(*) from gateway.voucher where tenant_id = ${largest}`
  /** The stamps at some places from the end of each tenant's list. */
  const ends = (condition: string) => sql<Sample[]>`
    select tenant, "updatedSince" from (
      select tenant_id as tenant, updated_at as "updatedSince",
             row_number() over (partition by tenant_id order by updated_at desc, id desc) as place
      from gateway.voucher
    ) listed where ${sql.unsafe(condition)} order by place, tenant`
  return [
    {
      name: 'vouchers',
      title: 'A page of 50 vouchers',
      operation: 'ListPurchasedVouchers',
      samples: await starts('gateway.voucher'),
      afterCursor: true,
    },
    {
      name: 'products',
      title: 'A page of 50 products with their categories and variants',
      operation: 'ListCatalogVouchers',
      samples: await starts('gateway.product'),
      afterCursor: true,
    },
    {
      name: 'voucher',
      title: 'One voucher by its id',
      operation: 'GetPurchasedVoucher',
      samples: named.map(({ tenant, id }) => ({ tenant, id })),
    },
    {
      name: 'resolution',
      title: 'A resolution',
      operation: 'ResolveVoucher',
      samples: named.map(({ tenant, reference }) => ({ tenant, reference })),
    },
    {
      name: 'first',
      title: 'The first page of the largest list',
      operation: 'ListPurchasedVouchers',
      samples: [{ tenant: largest }],
    },
    {
      name: 'last',
      title: `Its last pages, up to page ${Math.ceil((total?.count ?? 0) / pageSize).toLocaleString('en')}`,
      operation: 'ListPurchasedVouchers',
      samples: await ends(
        `tenant = ${largest} and place % ${pageSize} = 0 and place between ${2 * pageSize} and ${deepPages * pageSize}`,
      ),
      afterCursor: true,
    },
    {
      // The answer to an integration that polls rarely: a few changes.
      name: 'incremental',
      title: 'Recent changes: 3 to 45 vouchers of each tenant',
      operation: 'ListPurchasedVouchers',
      samples: await ends('place in (3, 11, 26, 45)'),
    },
  ]
}
