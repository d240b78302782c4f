import { beforeEach, describe, expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { followed } from '../../support/followed.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, byKey, createDraw, idsOf, list, walk } from './support.ts'

/** Zones whose days differ from each other at every time. */
const zones = ['Pacific/Kiritimati', 'UTC', 'Etc/GMT+12']

interface Row {
  id: number
  tenantId: number
  reference: string
  recipient_name: string | null
  product_title: string | null
  currency: string | null
  current_balance: number | null
  initial_balance: number | null
  void: boolean
  redemption_status: string | null
  date_valid_start: string | null
  date_valid_end: string | null
  purchase_timestamp: string | null
  product_id: number | null
  parent_product_id: number | null
  updated_at: string
}

const draw = createDraw(7)
const rows: Row[] = []
let todays: Map<number, string>

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
const days = [-40, -2, -1, 0, 1, 2, 40].map(day)

const { database, build, client } = await startService()
const top = await build.tenant({ time_zone: zones[0]! })
const below = await build.tenant({ time_zone: zones[1]!, parent_id: top })
const tenants = [top, below, await build.tenant({ time_zone: zones[2]!, parent_id: below })]
const other = await build.tenant()
const { secret } = await build.token([whole(top)])
for (let n = 0; n < 160; n++) {
  const [start = null, end = null] = [draw([null, ...days]), draw([null, ...days])].sort()
  const currency = draw([null, 'GBP', 'EUR'])
  const columns = {
    reference: `${draw(['GIFT', 'gift', 'A%B', 'Ö_', 'x\\y'])}-${n}`,
    recipient_name: draw([null, 'Ann Lee', 'Zoë O’Neil', '100% Ann', 'Le_ Ann']),
    product_title: draw([null, 'Afternoon Tea', 'Tea for two', 'Spa day']),
    currency,
    initial_balance: currency === null ? null : draw([null, 50]),
    current_balance: currency === null ? null : draw([null, 0, 12.5, 50]),
    void: draw([true, false, false, false]),
    redemption_status: draw([null, null, null, 'Redeemed', 'open']),
    date_valid_start: end === null && draw([true, false]) ? null : start,
    date_valid_end: end,
    purchase_timestamp: draw([null, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00.000001Z', '2026-03-01T12:00:00Z']),
    product_id: draw([null, 1, 2, 3]),
    parent_product_id: draw([null, null, 1, 2]),
    updated_at: draw(['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000001Z', '2026-02-01T00:00:00.000000Z']),
  }
  const tenantId = draw([...tenants, other])
  rows.push({ ...columns, tenantId, id: await build.voucher(tenantId, columns) })
}
await followed(database.pool)

// Before each test, because a day may end in a time zone while the tests run.
beforeEach(async () => {
  const found = await database.pool<{ id: number; today: string }[]>`
    select id, (now() at time zone time_zone)::date as today from tenant`
  todays = new Map(found.map(({ id, today }) => [id, today]))
})

/** An independent implementation of the rules of a resolution. */
function statusOf(row: Row): string {
  const today = todays.get(row.tenantId) ?? ''
  if (row.void) return 'VOID'
  if (row.date_valid_start !== null && row.date_valid_start > today) return 'NOT_YET_VALID'
  if (row.date_valid_end !== null && row.date_valid_end < today) return 'EXPIRED'
  if (row.redemption_status?.toLowerCase() === 'redeemed' || (row.current_balance !== null && row.current_balance <= 0))
    return 'REDEEMED'
  return row.current_balance !== null && row.initial_balance !== null && row.current_balance < row.initial_balance
    ? 'PART_REDEEMED'
    : 'REDEEMABLE'
}

const within = (value: string | number | null, from: string | number | null, to: string | number | null) =>
  value !== null && (from === null || value >= from) && (to === null || value <= to)

const words = (row: Row) => ` ${row.reference} ${row.recipient_name ?? ''} ${row.product_title ?? ''}`.toLowerCase()

type Filter = [object, (row: Row) => boolean]

const statuses = ['VOID', 'NOT_YET_VALID', 'EXPIRED', 'REDEEMED', 'PART_REDEEMED', 'REDEEMABLE']

/** Filters, each with the equivalent predicate in TypeScript. */
const filters: Filter[] = [
  ...statuses.map((status): Filter => [{ status: [status] }, row => statusOf(row) === status]),
  [{ status: ['EXPIRED', 'VOID', 'REDEEMABLE'] }, row => ['EXPIRED', 'VOID', 'REDEEMABLE'].includes(statusOf(row))],
  [{ status: ['NOT_YET_VALID', 'PART_REDEEMED'] }, row => ['NOT_YET_VALID', 'PART_REDEEMED'].includes(statusOf(row))],
  [{ status: [] }, () => false],
  [{ validUntil: { from: days[2], to: days[4] } }, row => within(row.date_valid_end, days[2]!, days[4]!)],
  [{ validUntil: { to: days[3] } }, row => within(row.date_valid_end, null, days[3]!)],
  [{ validUntil: {} }, row => row.date_valid_end !== null],
  [
    { validOn: { from: days[3], to: days[4] } },
    row =>
      (row.date_valid_end === null || row.date_valid_end >= days[3]!) &&
      (row.date_valid_start === null || row.date_valid_start <= days[4]!),
  ],
  [
    { purchased: { from: '2026-01-01T00:00:00Z', before: '2026-01-02T00:00:00.000001Z' } },
    row => row.purchase_timestamp === '2026-01-01T00:00:00Z',
  ],
  [{ purchased: { from: '2026-01-01T01:00:00+01:00' } }, row => row.purchase_timestamp !== null],
  [{ productId: '1' }, row => (row.parent_product_id ?? row.product_id) === 1],
  [
    { productId: Buffer.from('CatalogVoucher:99.2').toString('base64url') },
    row => (row.parent_product_id ?? row.product_id) === 2,
  ],
  [{ productId: Buffer.from('Tenant:2').toString('base64url') }, () => false],
  [{ productId: 'x' }, () => false],
  [{ currency: 'gbp' }, row => row.currency === 'GBP'],
  [
    { currency: 'EUR', balance: { from: 12.5 } },
    row => row.currency === 'EUR' && within(row.current_balance, 12.5, null),
  ],
  [
    { currency: 'EUR', balance: { from: 0, to: 12.5 } },
    row => row.currency === 'EUR' && within(row.current_balance, 0, 12.5),
  ],
  ...['gift-1', 'TEA', '%', 'a%b', '_', '\\', 'ö_-', 'zoë', 'afternoon ann', ' tea  ann ', 'an', 'nn', 'l', '1'].map(
    (text): Filter => {
      const parts = text.toLowerCase().split(' ').filter(Boolean)
      return [{ text }, row => parts.every(word => words(row).includes(word.length < 3 ? ` ${word}` : word))]
    },
  ),
]

const orders: [string, (row: Row) => string | number | null, object][] = [
  ['UPDATED_AT', row => row.updated_at, {}],
  ['PURCHASED_AT', row => row.purchase_timestamp, {}],
  ['VALID_UNTIL', row => row.date_valid_end ?? 'infinity', {}],
  ['BALANCE', row => row.current_balance, { currency: 'GBP' }],
]

const asked = (more: Partial<Asked>): Asked => ({ tenantId: top, list: 'purchasedVouchers', ...more })

const expected = (more: Partial<Asked>, matches: Filter[1]) =>
  rows
    .filter(row => (more.withDescendants ? tenants.includes(row.tenantId) : row.tenantId === (more.tenantId ?? top)))
    .filter(matches)

const sortedIds = (found: Row[], order = orders[0]!, direction: 'ASC' | 'DESC' = 'ASC') =>
  found.sort(byKey(order[1], direction)).map(({ id }) => id)

it.each(filters)('finds what %j says', async (filter, matches) => {
  for (const withDescendants of [false, true]) {
    const more = { filter, withDescendants }
    const ids = sortedIds(expected(more, matches))
    expect(await walk(client, secret, asked(more), 100)).toEqual({ ids, total: ids.length })
  }
})

it('has some vouchers for nearly every filter', () => {
  const found = filters.map(([, matches]) => expected({ withDescendants: true }, matches).length)
  expect(found.filter(count => count === 0)).toHaveLength(7)
})

describe.each(orders)('ordered by %s', (field, keyOf, filter) => {
  it.each(['ASC', 'DESC'] as const)('%s: each record once, forwards and backwards', async direction => {
    for (const withDescendants of [false, true]) {
      const more = { filter, withDescendants, orderBy: { field, direction } }
      const matches = (row: Row) => !('currency' in filter) || row.currency === 'GBP'
      const ids = sortedIds(expected(more, matches), [field, keyOf, filter], direction)
      expect(await walk(client, secret, asked(more), 17)).toEqual({ ids, total: ids.length })
      expect(await walk(client, secret, asked(more), 23, true)).toEqual({ ids, total: ids.length })
    }
  })
})

it('combines filters and orders', async () => {
  for (let n = 0; n < 30; n++) {
    const [[one, matchesOne], [other, matchesOther]] = [draw(filters), draw(filters)]
    const [order, direction] = [draw(orders), draw(['ASC', 'DESC'] as const)]
    // A later filter replaces the same field of an earlier one.
    const both = Object.keys(one).some(name => name in other) ? one : { ...one, ...other }
    const filter = { ...order[2], ...both }
    const inCurrency = (row: Row) => !('currency' in filter) || row.currency === String(filter.currency).toUpperCase()
    const matches = (row: Row) => matchesOne(row) && (both === one || matchesOther(row)) && inCurrency(row)
    const more = { filter, withDescendants: draw([true, false]), orderBy: { field: order[0], direction } }
    const ids = sortedIds(expected(more, matches), order, direction)
    expect(await walk(client, secret, asked(more), 20, draw([true, false])), JSON.stringify(more)).toEqual({
      ids,
      total: ids.length,
    })
  }
})

it('gives each voucher the status that a resolution finds', async () => {
  for (const tenantId of tenants) {
    const found = await list(client, secret, asked({ tenantId }), { first: 100 }, 'databaseId reference status')
    expect(found.edges.length).toBeGreaterThan(20)
    for (const { node } of found.edges) {
      const row = rows.find(({ id }) => id === node.databaseId)!
      expect(node.status).toBe(statusOf(row))
      const { status, reason_code } = (await client.resolve(secret, tenantId, { voucher_reference: node.reference }))
        .body.data
      const expectedReason = { VOID: 'void', NOT_YET_VALID: 'not_yet_valid', EXPIRED: 'expired' }[node.status as string]
      if (node.status === 'REDEEMED') expect(['redeemed', 'no_balance']).toContain(reason_code)
      else expect(reason_code).toBe(expectedReason)
      expect(status === 'redeemable').toBe(['REDEEMABLE', 'PART_REDEEMED'].includes(node.status))
    }
  }
})

it('combines with updatedSince, and keeps it in the cursor', async () => {
  const since = '2026-01-01T00:00:00.000001Z'
  const more = { orderBy: { field: 'VALID_UNTIL' }, withDescendants: true }
  const ids = sortedIds(
    expected(more, row => row.updated_at >= since),
    orders[2],
  )
  expect(await walk(client, secret, asked({ ...more, updatedSince: since }), 9)).toEqual({ ids, total: ids.length })
  const first = await list(client, secret, asked({ ...more, updatedSince: since }), { first: 3 })
  const rest = await list(client, secret, asked(more), { first: 100, after: first.nextCursor })
  expect(idsOf(rest)).toEqual(ids.slice(3, 103))
  expect(rest.count.count).toBe(ids.length)
})

describe('a cursor', () => {
  const lists: Partial<Asked>[] = [
    {},
    { filter: { currency: 'GBP' } },
    { filter: { currency: 'EUR' } },
    { filter: { currency: 'GBP' }, withDescendants: true },
    { orderBy: { field: 'PURCHASED_AT' } },
    { orderBy: { field: 'PURCHASED_AT', direction: 'DESC' } },
    { orderBy: { field: 'VALID_UNTIL' } },
    { withDescendants: true },
  ]

  it('belongs to its filter, its order and its tenants', async () => {
    for (const [index, more] of lists.entries()) {
      const { pageInfo } = await list(client, secret, asked(more), { first: 2 })
      for (const [otherIndex, other] of lists.entries()) {
        const { errors } = await ask(client, secret, asked(other), { after: pageInfo.endCursor })
        const fields = index === otherIndex ? undefined : { after: [expect.stringContaining('no cursor of this list')] }
        expect(errors?.[0].extensions.errors).toEqual(fields)
      }
    }
  })

  it('belongs to a filter however it is written', async () => {
    const written = { filter: { status: ['VOID', 'EXPIRED'], validUntil: { from: days[0], to: null }, text: null } }
    const again = { filter: { validUntil: { from: days[0] }, status: ['EXPIRED', 'VOID'] }, withDescendants: false }
    const { pageInfo } = await list(client, secret, asked(written), { first: 1 })
    await list(client, secret, asked(again), { first: 1, after: pageInfo.endCursor })
  })
})
