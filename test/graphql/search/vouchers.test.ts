import { expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { globalId, type PageArguments, readPages } from '../../support/graphql.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, idsOf, list } from './support.ts'

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
const [longAgo, soon, later] = [day(-40), day(3), day(40)]
const [firstDay, secondDay] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00.000001Z']
const [first, second, third] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000001Z', '2026-02-01T00:00:00Z']

const { build, client } = await startService()
// At any time, the current days of these zones differ.
const top = await build.tenant({ time_zone: 'Pacific/Kiritimati' })
const below = await build.tenant({ time_zone: 'Etc/GMT+12', parent_id: top })
const { secret } = await build.token([whole(top)])

const pounds = { currency: 'GBP', initial_balance: 50 }
const euros = { currency: 'EUR', initial_balance: 50 }
const vouchers: Record<string, Parameters<typeof build.voucher>[1] & { tenant?: number }> = {
  'GIFT-1': { ...pounds, current_balance: 50, date_valid_end: later, purchase_timestamp: firstDay, product_id: 1 },
  'gift-2': { ...pounds, current_balance: 50, date_valid_start: longAgo, purchase_timestamp: secondDay },
  'A%B-3': { void: true, product_title: 'Afternoon Tea', recipient_name: 'Ann Lee', updated_at: first },
  'Ö_-4': { ...pounds, current_balance: 0, date_valid_end: soon, product_id: 2 },
  'x\\y-5': { redemption_status: 'Redeemed', recipient_name: 'Zoë O’Neil', product_id: 3, parent_product_id: 1 },
  'OLD-6': { ...euros, current_balance: 50, date_valid_end: longAgo, product_title: 'Tea (2 people)' },
  'NEW-7': { date_valid_start: later, product_title: 'Day\u00a0XL' },
  'PART-8': { ...euros, current_balance: 12.5, product_title: 'Spa\nlight', purchase_timestamp: secondDay },
  'BELOW-9': { tenant: below, ...euros, current_balance: 0.5, date_valid_end: later, updated_at: third },
}
for (const [reference, { tenant = top, updated_at = second, ...columns }] of Object.entries(vouchers)) {
  await build.voucher(tenant, { reference, ...columns, updated_at })
}
await build.voucher(await build.tenant(), { reference: 'GIFT-OF-OTHERS' })

const asked = (more: Partial<Asked>): Asked => ({ tenantId: top, ...more })

type Found = { edges: { node: { reference: string } }[] }
const referencesIn = ({ edges }: Found) => edges.map(({ node }) => node.reference)

/** Reads a list with the tenants below, in pages from both ends. @returns the references, in the order of the list */
async function find(more: Partial<Asked>): Promise<string[]> {
  const read = (page: PageArguments) =>
    list(client, secret, asked({ withDescendants: true, ...more }), page, 'reference')
  const pages = await readPages(read, 2)
  const found = pages.flatMap(referencesIn)
  expect((await readPages(read, 3, true)).flatMap(referencesIn)).toEqual(found)
  expect(pages[0]!.count).toEqual({ count: found.length, precision: 'EXACT' })
  return found
}

const redeemable = ['GIFT-1', 'gift-2']
const partRedeemed = ['PART-8', 'BELOW-9']
const ofFirstProduct = ['GIFT-1', 'x\\y-5']

it.each<[object, string[]]>([
  [{ status: ['VOID'] }, ['A%B-3']],
  [{ status: ['REDEEMED'] }, ['Ö_-4', 'x\\y-5']],
  [{ status: ['EXPIRED'] }, ['OLD-6']],
  [{ status: ['NOT_YET_VALID'] }, ['NEW-7']],
  [{ status: ['PART_REDEEMED'] }, partRedeemed],
  [{ status: ['REDEEMABLE'] }, redeemable],
  [{ status: ['EXPIRED', 'VOID', 'REDEEMABLE'] }, ['OLD-6', 'A%B-3', ...redeemable]],
  [{ status: [] }, []],
  [{ validUntil: { from: soon, to: soon } }, ['Ö_-4']],
  [{ validUntil: { to: soon } }, ['Ö_-4', 'OLD-6']],
  [{ validUntil: {} }, ['GIFT-1', 'Ö_-4', 'OLD-6', 'BELOW-9']],
  [{ validOn: { from: later, to: later } }, Object.keys(vouchers).filter(name => !['Ö_-4', 'OLD-6'].includes(name))],
  [{ purchased: { from: firstDay, before: secondDay } }, ['GIFT-1']],
  [{ purchased: { from: '2026-01-01T01:00:00+01:00' } }, ['GIFT-1', 'gift-2', 'PART-8']],
  [{ productId: '1' }, ofFirstProduct],
  [{ productId: globalId('CatalogVoucher', 99, 1) }, ofFirstProduct],
  [{ productId: globalId('Tenant', 1) }, []],
  [{ currency: 'gbp' }, ['GIFT-1', 'gift-2', 'Ö_-4']],
  [{ currency: 'EUR', balance: { from: 0, to: 12.5 } }, partRedeemed],
  [{ text: 'GIFT-' }, redeemable],
  [{ text: 'a%b' }, ['A%B-3']],
  [{ text: 'a_b' }, []],
  [{ text: 'ö_-' }, ['Ö_-4']],
  [{ text: 'x\\y' }, ['x\\y-5']],
  [{ text: 'zoë' }, ['x\\y-5']],
  [{ text: ' tea  ann ' }, ['A%B-3']],
  // Words of one or two letters match only beginnings of words.
  [{ text: 'an' }, ['A%B-3']],
  [{ text: 'l' }, ['A%B-3', 'PART-8']],
  [{ text: 'xl' }, ['NEW-7']],
  [{ text: '(2' }, ['OLD-6']],
  [{ text: 'tea', status: ['EXPIRED'], validUntil: { to: soon }, currency: 'EUR' }, ['OLD-6']],
])('finds what %j says, in any order', async (filter, references) => {
  for (const field of ['UPDATED_AT', 'PURCHASED_AT', 'VALID_UNTIL']) {
    expect((await find({ filter, orderBy: { field } })).sort(), field).toEqual([...references].sort())
  }
})

it.each<[string, object, string[]]>([
  ['UPDATED_AT', {}, ['A%B-3', 'GIFT-1', 'gift-2', 'Ö_-4', 'x\\y-5', 'OLD-6', 'NEW-7', 'PART-8', 'BELOW-9']],
  // Records without a value in the order field are the last in both directions.
  ['PURCHASED_AT', {}, ['GIFT-1', 'gift-2', 'PART-8']],
  ['VALID_UNTIL', { validUntil: {} }, ['OLD-6', 'Ö_-4', 'GIFT-1', 'BELOW-9']],
  ['BALANCE', { currency: 'EUR' }, ['BELOW-9', 'PART-8', 'OLD-6']],
])('ordered by %s with %j: each record once, in both directions', async (field, filter, references) => {
  for (const direction of ['ASC', 'DESC'] as const) {
    const wanted = direction === 'ASC' ? references : references.toReversed()
    const found = await find({ filter, orderBy: { field, direction } })
    expect(found.slice(0, wanted.length), direction).toEqual(wanted)
  }
})

/** The reasons that a resolution may give for each `status` of a search; undefined: the voucher can be redeemed. */
const reasons: Record<string, (string | undefined)[]> = {
  ...{ VOID: ['void'], REDEEMED: ['redeemed', 'no_balance'], EXPIRED: ['expired'], NOT_YET_VALID: ['not_yet_valid'] },
  ...{ PART_REDEEMED: [undefined], REDEEMABLE: [undefined] },
}

it('a search shows for each voucher the status that a resolution finds', async () => {
  for (const tenantId of [top, below]) {
    // The current day of the tenant decides at both ends of the validity, and the zones of the tenants differ.
    for (const offset of [-2, -1, 0, 1, 2]) {
      await build.voucher(tenantId, { date_valid_end: day(offset) })
      await build.voucher(tenantId, { date_valid_start: day(offset) })
    }
    const { edges } = await list(client, secret, asked({ tenantId }), { first: 100 }, 'reference status')
    for (const { node } of edges) {
      const { body } = await client.resolve(secret, tenantId, { voucher_reference: node.reference })
      expect(reasons[node.status], node.reference).toContain(body.data.reason_code)
    }
  }
})

it('a filter combines with updatedSince, which the cursor keeps', async () => {
  const more = { orderBy: { field: 'VALID_UNTIL' }, filter: { status: ['VOID', 'EXPIRED', 'REDEEMED'] } }
  const since = { ...more, updatedSince: second }
  const all = await list(client, secret, asked(since), { first: 100 })
  const start = await list(client, secret, asked(since), { first: 2 })
  const rest = await list(client, secret, asked(more), { first: 100, after: start.nextCursor })
  expect(idsOf(rest)).toEqual(idsOf(all).slice(2))
  expect(rest.count).toEqual(all.count)
  expect(await find({ ...since, filter: { status: ['VOID'] } })).toEqual([])
})

const lists: Partial<Asked>[] = [
  {},
  { filter: { currency: 'GBP' } },
  { filter: { currency: 'EUR' } },
  { orderBy: { field: 'PURCHASED_AT' } },
  { orderBy: { field: 'PURCHASED_AT', direction: 'DESC' } },
  { withDescendants: true },
]

it('a cursor is rejected with another filter, order or set of tenants', async () => {
  for (const [index, more] of lists.entries()) {
    const { pageInfo } = await list(client, secret, asked(more), { first: 2 })
    for (const [otherIndex, other] of lists.entries()) {
      const { errors } = await ask(client, secret, asked(other), { after: pageInfo.endCursor })
      const fields = index === otherIndex ? undefined : { after: [expect.stringContaining('no cursor of this list')] }
      expect(errors?.[0].extensions.errors).toEqual(fields)
    }
  }
})

it('a cursor is accepted when the same filter is written differently', async () => {
  const written = { filter: { status: ['VOID', 'EXPIRED'], validUntil: { from: null, to: soon }, text: null } }
  const again = { filter: { validUntil: { to: soon }, status: ['EXPIRED', 'VOID'] }, withDescendants: false }
  const { pageInfo } = await list(client, secret, asked(written), { first: 1 })
  await list(client, secret, asked(again), { first: 1, after: pageInfo.endCursor })
})
