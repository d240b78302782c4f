/** Tests the bounds of a search: a page may end early, and a count says when it is a lower bound (R31). */
import { beforeAll, describe, expect, it } from 'vitest'
import { mostCandidates } from '../../../src/domain/search/search-table.ts'
import { createPlanReader, type Plan, type PlanReader, type Step } from '../../db/plans/plan.ts'
import { type Client, createApp } from '../../support/app.ts'
import { whole } from '../../support/builders.ts'
import { readPages } from '../../support/graphql.ts'
import { projected } from '../../support/projected.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, idsOf, list } from './support.ts'

/** Vouchers of the first tenant, and of each of the tenants below it. */
const [many, some] = [12_000, 700]
/** One of this many vouchers has `~~~` in its reference. */
const every = 1_997

const { build, client, database } = await startService()
const top = await build.tenant()
const tenants = [top]
for (let n = 0; n < 6; n++) tenants.push(await build.tenant({ parent_id: top }))
for (const [place, tenantId] of tenants.entries()) {
  await database.platform`
    insert into purchased_voucher (tenant_id, reference, product_title, recipient_name, currency, initial_balance,
      current_balance, redemption_status, purchase_timestamp, date_valid_end)
    select ${tenantId}, ${`R${place}-`} || case when n % ${every} = 7 then '~~~' else '' end || n, 'Gift for two', 'Ann Lee',
      case when n <= 5 then 'EUR' else 'GBP' end, 50, 50, case when n % 2 = 0 then 'redeemed' end,
      case when n % 9 > 0 then timestamptz '2026-01-01Z' + n * interval '1 minute' end, date '2020-01-01' + n % 100
    from generate_series(1, ${place === 0 ? many : some}) n`
}
await projected(database.pool)
await database.platform`
  update gateway.voucher set updated_at = timestamptz '2026-02-01Z' + (id * 7919 % 12007) * interval '1 second'`
await database.platform`vacuum analyze gateway.voucher, gateway.voucher_entry`
const { secret } = await build.token([whole(top)])
const marked = await database.pool<{ id: number; tenantId: number }[]>`
  select id, tenant_id as "tenantId" from gateway.voucher where reference like '%~~~%' order by updated_at, id`

const asked = (more: Partial<Asked>): Asked => ({ tenantId: top, list: 'purchasedVouchers', ...more })

describe('a count', () => {
  it.each<[string, Partial<Asked>, number, string]>([
    ['few, of many', { filter: { currency: 'EUR' } }, 5, 'EXACT'],
    ['none', { filter: { currency: 'XXX' } }, 0, 'EXACT'],
    ['none, of several tenants', { filter: { currency: 'XXX' }, withDescendants: true }, 0, 'EXACT'],
    ['few, of several tenants', { filter: { currency: 'EUR' }, withDescendants: true }, 35, 'EXACT'],
    ['many', { filter: { currency: 'GBP' } }, mostCandidates, 'AT_LEAST'],
    ['many, of several tenants', { withDescendants: true }, mostCandidates, 'AT_LEAST'],
    ['all statuses', { filter: { status: ['EXPIRED', 'REDEEMED', 'VOID', 'REDEEMABLE'] } }, mostCandidates, 'AT_LEAST'],
    ['a rare text and a common one', { filter: { text: 'gift 11999' } }, 1, 'EXACT'],
    ['a few of a range', { filter: { purchased: { before: '2026-01-01T00:10:00Z' } } }, 8, 'EXACT'],
    ['one tenant', { tenantId: 0, filter: { status: ['EXPIRED', 'REDEEMED'] } }, some, 'EXACT'],
  ])('of %s', async (_, more, count, precision) => {
    const tenantId = more.tenantId === 0 ? tenants[1]! : top
    const found = await list(client, secret, asked({ ...more, tenantId }), { first: 0 })
    expect(found.count).toEqual({ count, precision })
  })

  it('that is exact needs a list without a filter', async () => {
    const total = async (args: string) =>
      (await client.graphql(secret, `{ tenant(id: ${top}) { purchasedVouchers${args} { totalCount } } }`)).body
    for (const args of ['', '(orderBy: { field: PURCHASED_AT })', '(filter: {})']) {
      expect((await total(args)).data.tenant.purchasedVouchers.totalCount).toBe(many)
    }
    for (const args of ['(filter: { currency: "GBP" })', '(withDescendants: true)']) {
      const { errors } = await total(args)
      expect(errors[0].extensions.errors).toEqual({ totalCount: [expect.stringContaining('Select count')] })
    }
  })
})

describe('a page', () => {
  /** Reads the list in pages that may be empty. @returns the ids in the order of the list, and how many pages it had */
  async function walk(more: Partial<Asked>, size: number, backward: boolean) {
    const pages = await readPages(page => list(client, secret, asked(more), page), size, backward)
    return { ids: pages.flatMap(idsOf), pages: pages.length }
  }

  it.each([
    [3, false],
    [3, true],
    [20, false],
    [20, true],
  ])('of %d says where a search that found too little goes on (backwards: %s)', async (size, backward) => {
    const filter = { text: '~~~' }
    const of = (found: readonly { id: number }[]) => found.map(({ id }) => id)
    const [one, group] = await Promise.all([
      walk({ filter }, size, backward),
      walk({ filter, withDescendants: true }, size, backward),
    ])
    expect(one.ids).toEqual(of(marked.filter(({ tenantId }) => tenantId === top)))
    expect(one.pages).toBeGreaterThan(Math.floor(many / mostCandidates))
    expect(group.ids).toEqual(of(marked))
  })

  it.each(['PURCHASED_AT', 'VALID_UNTIL'])('goes on also in the order %s', async field => {
    for (const direction of ['ASC', 'DESC'] as const) {
      const more = { filter: { text: '~~~' }, orderBy: { field, direction }, withDescendants: true }
      const [forward, backward] = await Promise.all([walk(more, 4, false), walk(more, 5, true)])
      expect(forward.ids).toEqual(backward.ids)
      expect([...forward.ids].sort((a, b) => a - b)).toEqual(marked.map(({ id }) => id).sort((a, b) => a - b))
    }
  })

  it('is found at once when an index has few rows for its filter', async () => {
    for (const filter of [{ currency: 'EUR' }, { text: 'r0-11999 gift' }, { text: '0-1', currency: 'EUR' }]) {
      const { edges, pageInfo } = await list(client, secret, asked({ filter, orderBy: { field: 'VALID_UNTIL' } }))
      expect(edges.length).toBeGreaterThan(0)
      expect(pageInfo.hasNextPage).toBe(false)
    }
  })
})

/** Returns the vouchers that a plan node and its children read, including vouchers that they filtered out. */
function rowsRead(step: Step): number {
  const ofTable = step['Relation Name'] === 'voucher' && step['Node Type'] !== 'Bitmap Index Scan'
  const read = (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops']
  return (ofTable ? read : 0) + (step.Plans ?? []).reduce((sum, below) => sum + rowsRead(below), 0)
}

describe('the rows that are read', () => {
  let reader: PlanReader
  let explained: Client

  // Set only here, because the server then reports the plans of all new connections, which takes long.
  beforeAll(async () => {
    reader = await createPlanReader(database, 'custom')
    explained = await createApp({ pool: reader.pool })
  })

  const letters = 'g f t 1 2 3 4 5 6 7'
  const common = {
    status: ['EXPIRED'],
    validUntil: { from: '2019-01-01' },
    purchased: { from: '2020-01-01T00:00:00Z' },
  }

  it.each<[string, Partial<Asked>, number]>([
    ['all statuses', { filter: { status: ['VOID', 'EXPIRED', 'REDEEMED'] } }, 1],
    ['a currency that no voucher has', { filter: { currency: 'XXX' }, orderBy: { field: 'VALID_UNTIL' } }, 1],
    ['one-letter words', { filter: { text: letters } }, 0],
    ['a text without a trigram', { filter: { text: '~~~~' } }, 0],
    ['beginnings of words', { filter: { text: 'o-t' } }, 0],
    ['a common text that no voucher has', { filter: { text: 'gift ~~~~' } }, 0],
    ['common filters that no voucher meets together', { filter: { ...common, currency: 'GBP', text: 'gift ~~~~' } }, 3],
    ['changes after all others', { updatedSince: '2099-01-01T00:00:00Z', orderBy: { field: 'PURCHASED_AT' } }, 1],
  ])('are bounded: %s', async (_, more, ranges) => {
    for (const withDescendants of [false, true]) {
      const rows = (plans: readonly Plan[]) => plans.reduce((sum, { root }) => sum + rowsRead(root), 0)
      const page = rows(
        await reader.during(async () => {
          const { errors } = await ask(explained, secret, asked({ ...more, withDescendants }), { first: 10 })
          expect(errors).toBeUndefined()
        }),
      )
      // The page: the first rows, as many as are likely to fill it, a sample for a text, each range (or the list as one), and
      // the list. The count: each range, or the list.
      const bound = mostCandidates + 100
      expect(page).toBeLessThanOrEqual(2 * 500 + 1_500 + (2 * Math.max(ranges, 1) + 2) * bound)
    }
  })
})
