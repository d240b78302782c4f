import type { Pool } from '../../src/db/connect.ts'
import { bigTenant, type Size, tenants } from './seed.ts'

/** What one request asks for. */
export interface Sample {
  tenant: number
  /** The record that the page comes after. */
  after?: { updatedAt: string; id: number }
  updatedSince?: string
  id?: number
  reference?: string
}

export type Operation = 'vouchers' | 'products' | 'voucher' | 'resolve'

/** Something that is asked for again and again, never twice in a row the same. */
export interface Call {
  name: string
  title: string
  operation: Operation
  samples: Sample[]
  /** Not all contenders have all of v1. */
  onlyServices: boolean
}

/** Numbers that look like chance and are the same every time. */
function chance(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state * 1664525 + 1013904223) % 4294967296
    return Math.floor((state / 4294967296) * below)
  }
}

const pages = 300
const records = 1000
const deepPages = 40

/** Reads from the seeded database what there is to ask for. */
export async function readCalls(sql: Pool, size: Size): Promise<Call[]> {
  const draw = chance(2024)
  const ids = (count: number, below: number) => `{${Array.from({ length: count }, () => 1 + draw(below)).join(',')}}`
  const vouchers = await sql<{ tenant: number; updatedAt: string; id: number }[]>`
    select tenant_id as tenant, updated_at as "updatedAt", id
    from unnest(${ids(pages, size.vouchers)}::text::bigint[]) with ordinality drawn(id, place)
    join purchased_voucher using (id) order by place`
  const products = await sql<{ tenant: number; updatedAt: string; id: number }[]>`
    select tenant_id as tenant, updated_at as "updatedAt", id
    from unnest(${ids(pages, size.products)}::text::bigint[]) with ordinality drawn(id, place)
    join product using (id) order by place`
  const named = await sql<{ tenant: number; id: number; reference: string }[]>`
    select tenant_id as tenant, id, reference
    from unnest(${ids(records, size.vouchers)}::text::bigint[]) with ordinality drawn(id, place)
    join purchased_voucher using (id) order by place`
  // The last pages of the largest list: each comes after the last record of the one before it.
  const last = await sql<{ updatedAt: string; id: number }[]>`
    select updated_at as "updatedAt", id from (
      select updated_at, id, row_number() over (order by updated_at, id) as place
      from purchased_voucher where tenant_id = ${bigTenant}
    ) listed
    where place % 50 = 0 and place < (select count(*) from purchased_voucher where tenant_id = ${bigTenant})
    order by place desc limit ${deepPages}`
  // What an integration finds that asks now and then: a handful of changes.
  const recent = await sql<{ tenant: number; updatedSince: string }[]>`
    select tenant_id as tenant, updated_at as "updatedSince" from (
      select tenant_id, updated_at, row_number() over (partition by tenant_id order by updated_at desc, id desc) as place
      from purchased_voucher
    ) listed
    where place in (3, 11, 26, 45) order by place, tenant_id`
  const [total] = await sql<{ count: number }[]>`
    select count(*) from purchased_voucher where tenant_id = ${bigTenant}`
  const toPage = ({ tenant, ...after }: { tenant: number; updatedAt: string; id: number }): Sample => ({
    tenant,
    after,
  })
  return [
    {
      name: 'vouchers',
      title: 'A page of 50 vouchers',
      operation: 'vouchers',
      samples: vouchers.map(toPage),
      onlyServices: false,
    },
    {
      name: 'products',
      title: 'A page of 50 products with their categories and variants',
      operation: 'products',
      samples: products.map(toPage),
      onlyServices: false,
    },
    {
      name: 'voucher',
      title: 'One voucher by its id',
      operation: 'voucher',
      samples: named.map(({ tenant, id }) => ({ tenant, id })),
      onlyServices: false,
    },
    {
      name: 'resolution',
      title: 'A resolution',
      operation: 'resolve',
      samples: named.map(({ tenant, reference }) => ({ tenant, reference })),
      onlyServices: true,
    },
    {
      name: 'first',
      title: 'The first page of the largest list',
      operation: 'vouchers',
      samples: [{ tenant: bigTenant }],
      onlyServices: true,
    },
    {
      name: 'last',
      title: `Its last pages, up to page ${Math.ceil(total!.count / 50).toLocaleString('en')}`,
      operation: 'vouchers',
      samples: last.map(after => ({ tenant: bigTenant, after })),
      onlyServices: true,
    },
    {
      name: 'incremental',
      title: `What changed lately: 3 to 45 vouchers of each of ${tenants} tenants`,
      operation: 'vouchers',
      samples: recent,
      onlyServices: true,
    },
  ]
}
