/** Tests the bounds of a search: a page may end early, and a count says when it is a lower bound (R31). */
import { expect, it } from 'vitest'
import { mostCandidates } from '../../../src/domain/search/search-table.ts'
import { whole } from '../../support/builders.ts'
import { readPages } from '../../support/graphql.ts'
import { projected } from '../../support/projected.ts'
import { startService } from '../../support/service.ts'
import { type Asked, idsOf, list } from './support.ts'

/** The number of vouchers of the first tenant, and of each tenant below it. */
const [many, some] = [12_000, 700]
/** One in this number of vouchers has `~~~` in its reference. */
const interval = 1_997

const { build, client, pool, platform } = await startService()
const top = await build.tenant()
const tenants = [top]
for (let n = 0; n < 6; n++) tenants.push(await build.tenant({ parent_id: top }))
for (const [place, tenantId] of tenants.entries()) {
  await platform`
    insert into purchased_voucher (tenant_id, reference, product_title, recipient_name, currency, initial_balance,
      current_balance, redemption_status, purchase_timestamp, date_valid_end)
    select ${tenantId}, ${`R${place}-`} || case when n % ${interval} = 7 then '~~~' else '' end || n, 'Gift for two',
      'Ann Lee', case when n <= 5 then 'EUR' else 'GBP' end, 50, 50, case when n % 2 = 0 then 'redeemed' end,
      case when n % 9 > 0 then timestamptz '2026-01-01Z' + n * interval '1 minute' end, date '2020-01-01' + n % 100
    from generate_series(1, ${place === 0 ? many : some}) n`
}
await projected(pool)
await platform`
  update gateway.voucher set updated_at = timestamptz '2026-02-01Z' + (id * 7919 % 12007) * interval '1 second'`
await platform`vacuum analyze gateway.voucher, gateway.voucher_entry`
const { secret } = await build.token([whole(top)])
const marked = await pool<{ id: number; tenantId: number }[]>`
  select id, tenant_id as "tenantId" from gateway.voucher where reference like '%~~~%' order by updated_at, id`

const asked = (more: Partial<Asked>): Asked => ({ tenantId: top, ...more })

it.each<[string, Partial<Asked>, number, string]>([
  ['few, of many', { filter: { currency: 'EUR' } }, 5, 'EXACT'],
  ['none, of several tenants', { filter: { currency: 'XXX' }, withDescendants: true }, 0, 'EXACT'],
  ['few, of several tenants', { filter: { currency: 'EUR' }, withDescendants: true }, 35, 'EXACT'],
  ['many', { filter: { currency: 'GBP' } }, mostCandidates, 'AT_LEAST'],
  ['many, of several tenants', { withDescendants: true }, mostCandidates, 'AT_LEAST'],
  ['a rare text and a common one', { filter: { text: 'gift 11999' } }, 1, 'EXACT'],
  ['a few of a range', { filter: { purchased: { before: '2026-01-01T00:10:00Z' } } }, 8, 'EXACT'],
  ['one tenant', { tenantId: 0, filter: { status: ['EXPIRED', 'REDEEMED'] } }, some, 'EXACT'],
])('a count of %s', async (_, more, count, precision) => {
  const tenantId = more.tenantId === 0 ? tenants[1]! : top
  const found = await list(client, secret, asked({ ...more, tenantId }), { first: 0 })
  expect(found.count).toEqual({ count, precision })
})

it('totalCount is an error in a list with a filter or with descendants', async () => {
  const total = async (args: string) =>
    (await client.graphql(secret, `{ tenant(id: ${top}) { purchasedVouchers${args} { totalCount } } }`)).body
  const unfiltered = await total('(orderBy: { field: PURCHASED_AT }, filter: {})')
  expect(unfiltered.data.tenant.purchasedVouchers.totalCount).toBe(many)
  for (const args of ['(filter: { currency: "GBP" })', '(withDescendants: true)']) {
    const { errors } = await total(args)
    expect(errors[0].extensions.errors).toEqual({ totalCount: [expect.stringContaining('Select count')] })
  }
})

const filter = { text: '~~~' }

/** Reads the list in pages that may be empty. @returns the ids of the pages, in the order of the list */
async function walk(more: Partial<Asked>, size: number, backward: boolean) {
  const pages = await readPages(page => list(client, secret, asked({ filter, ...more }), page), size, backward)
  return pages.map(idsOf)
}

it.each([
  [3, false],
  [20, true],
])('after a short page of %d, a cursor continues the search (backwards: %s)', async (size, backward) => {
  const one = await walk({}, size, backward)
  expect(one.flat()).toEqual(marked.filter(({ tenantId }) => tenantId === top).map(({ id }) => id))
  expect(one.length).toBeGreaterThan(Math.floor(many / mostCandidates))
  const group = await walk({ withDescendants: true }, size, backward)
  expect(group.flat()).toEqual(marked.map(({ id }) => id))
})

it.each(['PURCHASED_AT', 'VALID_UNTIL'])('after a short page, a cursor continues in the order %s', async field => {
  for (const direction of ['ASC', 'DESC'] as const) {
    const more = { orderBy: { field, direction }, withDescendants: true }
    const [forward, backward] = [(await walk(more, 4, false)).flat(), (await walk(more, 5, true)).flat()]
    expect(forward).toEqual(backward)
    expect(new Set(forward)).toEqual(new Set(marked.map(({ id }) => id)))
    expect(forward).toHaveLength(marked.length)
  }
})
