import { describe, expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { checkToken } from '../support/check-token.ts'
import { onOneDay } from '../support/on-one-day.ts'
import { createWorld, faultyFields, flawOf } from './support.ts'

const world = await createWorld()
const { client, build, pool, platform, secret, tenantId } = world

/** Returns the calendar day in a time zone that is this number of days after today. */
const dayAt = async (zone: string, days: number): Promise<string> => {
  const [row] = await pool<{ day: string }[]>`select (now() at time zone ${zone})::date + ${days}::int as day`
  return row!.day
}
const past = await dayAt('UTC', -2)
const future = await dayAt('UTC', 2)

let made = 0
async function resolveOne(columns: Parameters<typeof build.voucher>[1], at = tenantId, owner = at, as = secret) {
  const reference = `RESOLVE-${++made}`
  const id = await build.voucher(owner, { ...columns, reference })
  const answer = await client.resolve(as, at, { voucher_reference: reference })
  return { id, reference, answer, data: answer.body.data }
}

test('a resolution omits fields without a value', async () => {
  const { id, reference, answer, data } = await resolveOne({})
  const voucher = { id, reference, is_monetary: false, allow_part_redeem: false, status: 'redeemable', void: false }
  const tenant = { id: tenantId, name: 'World', source_tenant_id: tenantId, source_tenant_name: 'World' }
  const wanted = { status: 'redeemable', voucher, tenant, redemption_token: data.redemption_token }
  expect(answer.text).toBe(JSON.stringify({ data: wanted }))
})

test('a resolution writes every field in the order of the contract', async () => {
  const owner = await build.tenant({ id: 9_007_199_254_740_001, name: 'Owner', type: 'group' })
  const at = await build.tenant({ name: 'Till', type: 'venue', parent_id: owner })
  const token = await build.token([owner, at])
  const money = { current_balance: 0.07, initial_balance: 50, currency: 'GBP' }
  const flags = { is_monetary: true, allow_part_redeem: true }
  const people = { product_title: 'Spa', recipient_name: 'Rae', customer_name: 'Cy', redemption_status: 'new' }
  const dates = { date_valid_start: past, date_valid_end: future }
  const columns = { id: 9_007_199_254_740_002, ...money, ...flags, ...people, void: true, ...dates }
  const { id, reference, answer } = await resolveOne({ ...columns, qr_token: 'q' }, at, owner, token.secret)
  const verdict = { status: 'not_redeemable', reason_code: 'void' }
  const voucher = { id, reference, ...money, ...flags, ...verdict, ...people, void: true, ...dates }
  const source = { source_tenant_id: owner, source_tenant_name: 'Owner', source_tenant_type: 'group' }
  const tenant = { id: at, name: 'Till', type: 'venue', ...source }
  expect(answer.text).toBe(JSON.stringify({ data: { ...verdict, voucher, tenant } }))
})

test('concurrent resolutions each get the voucher of their own scope', async () => {
  const numbers = [1, 2, 3]
  const checks: (() => Promise<void>)[] = []
  for (const own of numbers) {
    const till = await build.tenant()
    const { secret } = await build.token([till])
    await build.voucher(till, { reference: `TILL-${own}`, qr_token: `till-${own}` })
    // This request fills the caches of the token and the tenant, so that all resolutions below run in the same turn.
    await client.resolve(secret, till, { voucher_reference: 'absent' })
    for (const of of numbers) {
      for (const name of [{ voucher_reference: `till-${of}` }, { qr_token: `till-${of}` }]) {
        const check = async () => {
          const { status, body } = await client.resolve(secret, till, name)
          const wanted = of === own ? [200, `TILL-${of}`, till] : [404, undefined, undefined]
          expect([status, body.data?.voucher.reference, body.data?.tenant.id]).toEqual(wanted)
        }
        checks.push(check)
      }
    }
  }
  await Promise.all(checks.map(check => check()))
})

const notYetValid = { date_valid_start: future, date_valid_end: null }
const expired = { date_valid_start: null, date_valid_end: past }
const noBalance = { current_balance: 0, currency: 'GBP' }
const allReasons = { void: true, redemption_status: 'redeemed', ...noBalance }

test.each([
  ['void', { ...allReasons, ...expired }],
  ['redeemed', { ...allReasons, ...notYetValid, void: false }],
  ['redeemed', { redemption_status: 'Redeemed', current_balance: 5, currency: 'GBP' }],
  ['no_balance', { ...noBalance, ...expired, redemption_status: 'partially_redeemed' }],
  ['expired', { ...expired, current_balance: 5, currency: 'GBP' }],
  ['not_yet_valid', notYetValid],
])('the reason is %s, when several reasons apply', async (reason, columns) => {
  const { answer, data } = await resolveOne(columns)
  expect(answer.status).toBe(200)
  expect(data).toMatchObject({ status: 'not_redeemable', reason_code: reason })
  expect(data.voucher).toMatchObject({ status: 'not_redeemable', reason_code: reason })
  expect(data).not.toHaveProperty('redemption_token')
})

test.each([
  ['some balance', { current_balance: 0.01, currency: 'GBP' }],
  ['redeemed in part', { redemption_status: 'partially_redeemed' }],
])('a voucher is redeemable: %s', async (_, columns) => {
  const { data } = await resolveOne(columns)
  expect([data.status, data.reason_code, data.voucher.reason_code]).toEqual(['redeemable', undefined, undefined])
  expect(data.redemption_token).toMatch(/^\S{22,}$/)
})

test('a voucher is valid from its first to its last day in the time zone of its owner', () =>
  onOneDay(async () => {
    const zones = ['Pacific/Kiritimati', 'Pacific/Niue']
    for (const [zone = '', elsewhere = ''] of [zones, zones.toReversed()]) {
      const owner = await build.tenant({ time_zone: zone })
      const till = await build.tenant({ time_zone: elsewhere, parent_id: owner })
      const { secret: token } = await build.token([owner, till])
      const reasonOf = async (columns: Record<string, string>) =>
        (await resolveOne(columns, till, owner, token)).data.reason_code
      const [before, today, after] = [await dayAt(zone, -1), await dayAt(zone, 0), await dayAt(zone, 1)]
      expect(await reasonOf({ date_valid_start: today, date_valid_end: today }), zone).toBeUndefined()
      expect(await reasonOf({ date_valid_start: after }), zone).toBe('not_yet_valid')
      expect(await reasonOf({ date_valid_end: before }), zone).toBe('expired')
    }
  }))

test('a redemption token is signed with a published key, and names voucher, owner, tenant and token', async () => {
  const owner = await build.tenant()
  const till = await build.tenant({ parent_id: owner })
  const token = await build.token([owner, till])
  const before = Math.floor(Date.now() / 1000)
  const { id, reference, data } = await resolveOne({ recipient_name: 'Rae' }, till, owner, token.secret)
  const { payload, protectedHeader } = await checkToken(client, data.redemption_token)
  expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: expect.stringMatching(/^[\w-]{43}$/) })
  expect(payload).toEqual({
    ...{ iss: 'http://localhost:8080', aud: 'redemption', sub: String(id) },
    ...{ voucher_id: id, owner_id: owner, tenant_id: till, token_id: token.id },
    ...{ jti: expect.stringMatching(/^[\w-]{22}$/), iat: expect.any(Number), exp: Number(payload.iat) + 900 },
  })
  expect(Math.floor((Number(payload.iat) - before) / 60)).toBe(0)
  const again = (await client.resolve(token.secret, till, { voucher_reference: reference })).body.data
  expect((await checkToken(client, again.redemption_token)).payload.jti).not.toBe(payload.jti)
})

test('a redemption token has the configured issuer, audience and lifetime', async () => {
  const url = 'https://gateway.example.com'
  const settings = { PUBLIC_URL: url, REDEMPTION_AUDIENCE: 'tills', REDEMPTION_TOKEN_TTL: '7' }
  const other = await createApp(world, settings)
  await build.voucher(tenantId, { reference: 'BRIEF' })
  const { body } = await other.resolve(secret, tenantId, { voucher_reference: 'brief' })
  const { payload } = await checkToken(other, body.data.redemption_token)
  expect(payload).toMatchObject({ iss: url, aud: 'tills', exp: Number(payload.iat) + 7 })
})

test('a resolution neither changes nor locks the row of the voucher', async () => {
  const { id, reference } = await resolveOne({})
  const row = () =>
    platform`select voucher.*, xmin::text, xmax::text, ctid::text from purchased_voucher voucher where id = ${id}`
  const before = await row()
  const resolve = () => client.resolve(secret, tenantId, { voucher_reference: reference })
  const answers = await Promise.all(Array.from({ length: 10 }, resolve))
  expect(new Set(answers.map(({ body }) => body.data.redemption_token)).size).toBe(10)
  expect(await row()).toEqual(before)
  await platform.begin(async sql => {
    await sql`select from purchased_voucher where id = ${id} for update`
    expect((await resolve()).status).toBe(200)
  })
})

test('vouchers of the path tenant, its ancestors and descendants are found if the token includes the owner', async () => {
  const top = await build.tenant({ name: 'Top' })
  const middle = await build.tenant({ name: 'Middle', parent_id: top })
  const bottom = await build.tenant({ name: 'Bottom', parent_id: middle })
  const beside = await build.tenant({ name: 'Beside', parent_id: top })
  const owners = [top, middle, bottom, beside]
  for (const [grants, at, wanted] of [
    [[whole(top)], top, owners],
    [[whole(top)], middle, [top, middle, bottom]],
    [[whole(top)], bottom, [top, middle, bottom]],
    [[whole(top)], beside, [top, beside]],
    [[middle], middle, [middle]],
    [[whole(middle)], bottom, [middle, bottom]],
    [[top, bottom], bottom, [top, bottom]],
  ] as const) {
    const token = await build.token([...grants])
    const found: number[] = []
    for (const owner of owners) {
      if ((await resolveOne({}, at, owner, token.secret)).answer.status === 200) found.push(owner)
    }
    expect(found).toEqual(wanted)
  }
})

const names = { reference: 'voucher_reference', qr_token: 'qr_token' }
describe.each(Object.entries(names))('a %s that several tenants have', (column, field) => {
  test('resolves at the path tenant, else its nearest ancestor, else a descendant; several there are 422', async () => {
    const top = await build.tenant()
    const middle = await build.tenant({ parent_id: top })
    const till = await build.tenant({ parent_id: middle })
    const below = await build.tenant({ parent_id: till })
    const token = await build.token([whole(top)])
    const find = () => client.resolve(token.secret, till, { [field]: 'Shared' })
    for (const owner of [below, top, middle, till]) {
      const id = await build.voucher(owner, { [column]: 'Shared' })
      expect((await find()).body.data.voucher.id).toBe(id)
      const equal = await build.voucher(owner, { [column]: ' Shared' })
      expect(faultyFields(await find())).toEqual([field])
      await platform`delete from purchased_voucher where id = ${equal}`
    }
    for (const owner of [till, middle, top, below]) {
      expect((await find()).body.data.tenant.source_tenant_id).toBe(owner)
      await platform`delete from purchased_voucher where tenant_id = ${owner}`
    }
    expect((await find()).status).toBe(404)
  })

  test('is 422 when several descendants have it, unless the token is authorised for only one of them', async () => {
    const till = await build.tenant()
    const owners = [await build.tenant({ parent_id: till }), await build.tenant({ parent_id: till })]
    for (const owner of owners) await build.voucher(owner, { [column]: 'Below' })
    const { secret: all } = await build.token([whole(till)])
    const { secret: some } = await build.token([till, owners[1]!])
    const ambiguous = await client.resolve(all, till, { [field]: 'Below' })
    expect(flawOf(ambiguous, 422)).toBeNull()
    expect(ambiguous.body.errors).toEqual({ [field]: [expect.stringContaining('Several vouchers have this')] })
    expect((await client.resolve(some, till, { [field]: 'Below' })).body.data.tenant.source_tenant_id).toBe(owners[1])
  })
})

test('the nearest tenant has priority; at the same distance, the reference in the same case', async () => {
  const till = await build.tenant()
  const { secret: all } = await build.token([whole(till)])
  for (const reference of ['Case', 'CASE']) {
    await build.voucher(await build.tenant({ parent_id: till }), { reference })
  }
  const find = (reference: string) => client.resolve(all, till, { voucher_reference: reference })
  for (const name of ['Case', 'CASE', ' CASE '])
    expect((await find(name)).body.data.voucher.reference).toBe(name.trim())
  expect(faultyFields(await find('case'))).toEqual(['voucher_reference'])
  await build.voucher(till, { reference: 'case' })
  expect((await find('CASE')).body.data.voucher.reference).toBe('case')
})
