/** Pages of a group with many tenants: one window of the default rate is enough to read all vouchers of the group. */
import { expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { projected } from '../../support/projected.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, list } from './support.ts'

const vouchers = 5_000

const { build, client, pool, platform } = await startService({ RATE_LIMIT_PER_MINUTE: '120' })
const top = await build.tenant()
for (let n = 1; n < 150; n++) await build.tenant({ parent_id: top })
// Some tenants have most of the vouchers, and some have none.
await platform`
  insert into purchased_voucher (tenant_id, reference, currency, initial_balance, current_balance, purchase_timestamp,
    date_valid_end)
  select ${top} + (floor(150 * power(n * 7919 % 5003 / 5003.0, 3)))::int, 'R' || n, 'GBP', 50, n % 50,
    case when n % 11 > 0 then timestamptz '2026-01-01Z' + (n * 31 % 977) * interval '1 hour' end,
    date '2030-01-01' + n % 100
  from generate_series(1, ${vouchers}) n`
await projected(pool)
await platform`
  update gateway.voucher set updated_at = timestamptz '2026-02-01Z' + (id * 7919 % 5003) * interval '1 second'`
const newToken = async (rateLimit?: number) => (await build.token([whole(top)], rateLimit ? { rateLimit } : {})).secret

const asked = (more: Partial<Asked>): Asked => ({ tenantId: top, withDescendants: true, ...more })

const purchases = { purchased: { from: '2026-01-01T00:00:00Z', before: '2027-01-01T00:00:00Z' } }
const pounds = { currency: 'GBP', balance: { from: 0, to: 50 } }

const query = `query ($tenant: ID!, $filter: PurchasedVoucherFilter, $orderBy: PurchasedVoucherOrder, $after: String) {
  tenant(id: $tenant) {
    purchasedVouchers(withDescendants: true, filter: $filter, orderBy: $orderBy, first: 100, after: $after) {
      nodes { databaseId reference status tenant { name } } nextCursor } } }`

/** Reads the list with a new token. @returns the ids in the order of the list, and the cost of all pages */
async function readAll(more: object) {
  const secret = await newToken()
  const pages: number[][] = []
  let cost = 0
  for (let after: string | null = ''; after !== null; ) {
    const { body } = await client.graphql(secret, query, { tenant: top, ...more, after })
    expect(body.errors).toBeUndefined()
    const { nodes, nextCursor } = body.data.tenant.purchasedVouchers
    pages.push(nodes.map((node: { databaseId: number }) => node.databaseId))
    cost += body.extensions.cost.actual
    after = nextCursor
  }
  // Only the last page may have fewer than 100 records.
  expect(pages.slice(0, -1).filter(({ length }) => length < 100)).toEqual([])
  return { ids: pages.flat(), cost }
}

const orders: [string, object, string][] = [
  ['of the list', {}, 'updated_at, id'],
  ['by purchase', { orderBy: { field: 'PURCHASED_AT' } }, 'purchase_timestamp, id'],
  [
    'by purchase, from the last',
    { orderBy: { field: 'PURCHASED_AT', direction: 'DESC' } },
    'purchase_timestamp desc nulls last, id desc',
  ],
  ['by balance', { filter: pounds, orderBy: { field: 'BALANCE' } }, 'current_balance, id'],
]

it.each(orders)('one window is enough for pages of 5,000 vouchers, each once: %s', async (_, more, order) => {
  const rows = await pool<{ id: number }[]>`
    select id from gateway.voucher where tenant_id between ${top} and ${top + 149}
    order by ${pool.unsafe(order)}`
  expect(rows).toHaveLength(vouchers)
  const { ids, cost } = await readAll(more)
  expect(ids).toEqual(rows.map(({ id }) => id))
  // The rest of the window remains for other requests of a web page.
  expect(cost).toBeLessThanOrEqual(100)
})

const costOf = async (more: Partial<Asked>) => {
  const { extensions } = await ask(client, await newToken(), asked(more), { first: 100 })
  // The cost of the list, without the cost of its count.
  return extensions.cost.actual - 2
}
const byPurchase = { field: 'PURCHASED_AT' }
const since = '2026-01-01T00:00:00Z'

it.each<[string, Partial<Asked>, number]>([
  ['its own order, since an instant', { updatedSince: since }, 2],
  ['another order', { orderBy: byPurchase }, 2],
  ['another order, since an instant', { orderBy: byPurchase, updatedSince: since }, 5],
  ['what the order is by', { orderBy: byPurchase, filter: purchases }, 2],
  ['a currency, by balance', { orderBy: { field: 'BALANCE' }, filter: pounds }, 2],
  ['what the order is not by', { filter: purchases }, 5],
  ['what the order is by, and more', { orderBy: byPurchase, filter: { ...purchases, currency: 'GBP' } }, 5],
  ['a text', { filter: { text: 'r1' } }, 9],
])('the cost of a page of a group grows with the number of rows that it may read: %s', async (_, more, cost) => {
  expect(await costOf(more)).toBe(cost)
})

it('a short list is searched as a whole: its first page contains the last record', async () => {
  const group = await build.tenant()
  await build.tenant({ parent_id: group })
  await platform`
    insert into purchased_voucher (tenant_id, reference, product_title)
    select ${group}, 'SHORT-' || n, case n when 1000 then 'Zq' end from generate_series(1, 1000) n`
  const { secret } = await build.token([whole(group)])
  const found = await list(client, secret, asked({ tenantId: group, filter: { text: 'zq' } }), {}, 'reference')
  expect(found.edges).toMatchObject([{ node: { reference: 'SHORT-1000' } }])
  expect(found.pageInfo.hasNextPage).toBe(false)
})
