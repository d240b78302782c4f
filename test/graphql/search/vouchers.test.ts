import { beforeEach, describe, expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, createComparison, createDraw, type Filter, idsOf, list, type Order } from './support.ts'

/** Zones whose days differ from each other at every time. */
const zones = ['Pacific/Kiritimati', 'UTC', 'Etc/GMT+12']

const draw = createDraw('vouchers')
let todays: Map<number, string>

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
const days = [-40, -2, -1, 0, 1, 2, 40].map(day)

const { database, build, client } = await startService()
const top = await build.tenant({ time_zone: zones[0]! })
const below = await build.tenant({ time_zone: zones[1]!, parent_id: top })
const tenants: [number, ...number[]] = [top, below, await build.tenant({ time_zone: zones[2]!, parent_id: below })]
const other = await build.tenant()
const { secret } = await build.token([whole(top)])
function drawVoucher(n: number) {
  const [start = null, end = null] = [draw([null, ...days]), draw([null, ...days])].sort()
  const currency = draw<string | null>([null, 'GBP', 'EUR'])
  return {
    reference: `${draw(['GIFT', 'gift', 'A%B', 'Ö_', 'x\\y'])}-${n}`,
    recipient_name: draw([null, 'Ann Lee', 'Zoë O’Neil', '100% Ann', 'Le_ Ann']),
    product_title: draw([null, 'Afternoon Tea', 'Tea (2 people)', 'Spa\nlight', 'Day\u00a0XL', 'Tea/day_li']),
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
    tenantId: draw([...tenants, other]),
  }
}

type Row = ReturnType<typeof drawVoucher> & { id: number }
const rows: Row[] = []
for (let n = 0; n < 160; n++) {
  const { tenantId, ...columns } = drawVoucher(n)
  rows.push({ ...columns, tenantId, id: await build.voucher(tenantId, columns) })
}

// Before each test, because a day may end in a time zone while the tests run.
beforeEach(async () => {
  const found = await database.pool<{ id: number; today: string }[]>`
    select id, (now() at time zone time_zone)::date as today from gateway.tenant`
  todays = new Map(found.map(({ id, today }) => [id, today]))
})

/** An independent implementation of the rules of a resolution. */
function statusOf(row: Row): string {
  const today = todays.get(row.tenantId) ?? ''
  if (row.void) return 'VOID'
  if (row.redemption_status?.toLowerCase() === 'redeemed' || (row.current_balance !== null && row.current_balance <= 0))
    return 'REDEEMED'
  if (row.date_valid_end !== null && row.date_valid_end < today) return 'EXPIRED'
  if (row.date_valid_start !== null && row.date_valid_start > today) return 'NOT_YET_VALID'
  return row.current_balance !== null && row.initial_balance !== null && row.current_balance < row.initial_balance
    ? 'PART_REDEEMED'
    : 'REDEEMABLE'
}

const within = (value: string | number | null, from: string | number | null, to: string | number | null) =>
  value !== null && (from === null || value >= from) && (to === null || value <= to)

const words = (row: Row) => ` ${row.reference} ${row.recipient_name ?? ''} ${row.product_title ?? ''}`.toLowerCase()

/** A short word must begin a word of the text. */
const contains = (text: string, word: string) =>
  word.length < 3
    ? Array.from(text, (_, at) => text.slice(0, at)).some(
        before => text.startsWith(word, before.length) && !/[\p{L}\p{Nd}]$/u.test(before),
      )
    : text.includes(word)

const statuses = ['VOID', 'REDEEMED', 'EXPIRED', 'NOT_YET_VALID', 'PART_REDEEMED', 'REDEEMABLE']

/** Filters, each with the equivalent predicate in TypeScript. */
const filters: Filter<Row>[] = [
  ...statuses.map((status): Filter<Row> => [{ status: [status] }, row => statusOf(row) === status]),
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
  ...'gift-1|TEA|%|a%b|_|\\|ö_-|zoë|afternoon ann| tea  ann |an|nn|l|1|2|xl|li|o’|(2|le)|('
    .split('|')
    .map((text): Filter<Row> => {
      const parts = text.toLowerCase().split(' ').filter(Boolean)
      return [{ text }, row => parts.every(word => contains(words(row), word))]
    }),
]

const orders: Order<Row>[] = [
  ['UPDATED_AT', row => row.updated_at, {}],
  ['PURCHASED_AT', row => row.purchase_timestamp, {}],
  ['VALID_UNTIL', row => row.date_valid_end ?? 'infinity', {}],
  ['BALANCE', row => row.current_balance, { currency: 'GBP' }],
]

const asked = (more: Partial<Asked>): Asked => ({ tenantId: top, list: 'purchasedVouchers', ...more })

const compare = createComparison(client, secret, tenants)

it.each(filters)('finds what %j says', (filter, matches) =>
  compare({ list: 'purchasedVouchers', filter }, rows, matches, row => row.updated_at))

it('has some vouchers for nearly every filter', () => {
  const own = rows.filter(({ tenantId }) => tenants.includes(tenantId))
  expect(filters.filter(([, matches]) => !own.some(matches))).toHaveLength(7)
})

it.each(orders)('ordered by %s: each record once, forwards and backwards', async (field, keyOf, filter) => {
  for (const direction of ['ASC', 'DESC'] as const) {
    const matches = (row: Row) => !('currency' in filter) || row.currency === 'GBP'
    await compare({ list: 'purchasedVouchers', filter, orderBy: { field, direction } }, rows, matches, keyOf)
  }
})

it('combines filters and orders', async () => {
  for (let n = 0; n < 30; n++) {
    const [[one, matchesOne], [other, matchesOther]] = [draw(filters), draw(filters)]
    const [[field, keyOf, needed], direction] = [draw(orders), draw(['ASC', 'DESC'] as const)]
    // A later filter replaces the same field of an earlier one.
    const both = Object.keys(one).some(name => name in other) ? one : { ...one, ...other }
    const filter = { ...needed, ...both }
    const inCurrency = (row: Row) => !('currency' in filter) || row.currency === String(filter.currency).toUpperCase()
    const matches = (row: Row) => matchesOne(row) && (both === one || matchesOther(row)) && inCurrency(row)
    await compare({ list: 'purchasedVouchers', filter, orderBy: { field, direction } }, rows, matches, keyOf)
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
  const more = { list: 'purchasedVouchers', orderBy: { field: 'VALID_UNTIL' }, withDescendants: true } as const
  const since = { ...more, updatedSince: '2026-01-01T00:00:00.000001Z' }
  await compare(since, rows, row => row.updated_at >= since.updatedSince, orders[2]![1])
  const all = await list(client, secret, asked(since), { first: 100 })
  const first = await list(client, secret, asked(since), { first: 3 })
  const rest = await list(client, secret, asked(more), { first: 100, after: first.nextCursor })
  expect(idsOf(rest)).toEqual(idsOf(all).slice(3))
  expect(rest.count).toEqual(all.count)
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
