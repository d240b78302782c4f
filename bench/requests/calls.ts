import type { Pool } from '../../src/db/sql.ts'
import type { OperationName, Sample } from '../harness/operations.ts'
import { Random } from '../harness/random.ts'
import { bigTenant, type Size, tenants } from '../harness/seed.ts'

/** Requests of one kind, sent in turn. */
export interface Call {
  name: string
  title: string
  operation: OperationName
  samples: Sample[]
  /** The page after the sample's is requested, by its cursor. */
  afterCursor: boolean
  /** Only the contenders that have the whole of v1 take part. */
  onlyServices: boolean
}

const pages = 120
const records = 1000
const deepPages = 40
const pageSize = 50

/** Reads the ids that the calls request from the seeded database. */
export async function readCalls(sql: Pool, size: Size): Promise<Call[]> {
  const random = new Random(2024)
  const ids = (count: number, limit: number) =>
    `{${Array.from({ length: count }, () => 1 + random.below(limit)).join(',')}}`
  const vouchers = await sql<Sample[]>`
    select tenant_id as tenant, updated_at as "updatedSince"
    from unnest(${ids(pages, size.vouchers)}::text::bigint[]) with ordinality chosen(id, place)
    join purchased_voucher using (id) order by place`
  const products = await sql<Sample[]>`
    select tenant_id as tenant, updated_at as "updatedSince"
    from unnest(${ids(pages, size.products)}::text::bigint[]) with ordinality chosen(id, place)
    join product using (id) order by place`
  const named = await sql<{ tenant: number; id: number; reference: string }[]>`
    select tenant_id as tenant, id, reference
    from unnest(${ids(records, size.vouchers)}::text::bigint[]) with ordinality chosen(id, place)
    join purchased_voucher using (id) order by place`
  const [total] = await sql<{ count: number }[]>`
    select count(*) from purchased_voucher where tenant_id = ${bigTenant}`
  const last = await sql<Sample[]>`
    select tenant, "updatedSince" from (
      select tenant_id as tenant, updated_at as "updatedSince",
             row_number() over (order by updated_at desc, id desc) as place
      from purchased_voucher where tenant_id = ${bigTenant}
    ) listed
    where place % ${pageSize}::int = 0 and place > ${pageSize} order by place limit ${deepPages}`
  // The answer to an integration that polls rarely: a few changes.
  const recent = await sql<Sample[]>`
    select tenant, "updatedSince" from (
      select tenant_id as tenant, updated_at as "updatedSince",
             row_number() over (partition by tenant_id order by updated_at desc, id desc) as place
      from purchased_voucher
    ) listed
    where place in (3, 11, 26, 45) order by place, tenant`
  return [
    {
      name: 'vouchers',
      title: 'A page of 50 vouchers',
      operation: 'ListPurchasedVouchers',
      samples: vouchers,
      afterCursor: true,
      onlyServices: false,
    },
    {
      name: 'products',
      title: 'A page of 50 products with their categories and variants',
      operation: 'ListCatalogVouchers',
      samples: products,
      afterCursor: true,
      onlyServices: false,
    },
    {
      name: 'voucher',
      title: 'One voucher by its id',
      operation: 'GetPurchasedVoucher',
      samples: named.map(({ tenant, id }) => ({ tenant, id })),
      afterCursor: false,
      onlyServices: false,
    },
    {
      name: 'resolution',
      title: 'A resolution',
      operation: 'ResolveVoucher',
      samples: named.map(({ tenant, reference }) => ({ tenant, reference })),
      afterCursor: false,
      onlyServices: true,
    },
    {
      name: 'first',
      title: 'The first page of the largest list',
      operation: 'ListPurchasedVouchers',
      samples: [{ tenant: bigTenant }],
      afterCursor: false,
      onlyServices: true,
    },
    {
      name: 'last',
      title: `Its last pages, up to page ${Math.ceil(total!.count / pageSize).toLocaleString('en')}`,
      operation: 'ListPurchasedVouchers',
      samples: last,
      afterCursor: true,
      onlyServices: true,
    },
    {
      name: 'incremental',
      title: `Recent changes: 3 to 45 vouchers of each of ${tenants} tenants`,
      operation: 'ListPurchasedVouchers',
      samples: recent,
      afterCursor: false,
      onlyServices: true,
    },
  ]
}
