/** Resolutions show vouchers in the state of their source, however late the records are (R35). */
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../support/app.ts'
import { createWorld, faultyFields, flawOf } from './support.ts'

const { client, build, platform, secret, tenantId } = await createWorld()
const otherTenant = await build.tenant()
/** Unlike `client`, this client runs no steps before a request. */
const { resolve } = createClient(client.app)
const balance = { current_balance: 20, initial_balance: 50, currency: 'GBP' }

/**
 * Prevents steps until the test ends; meanwhile, no builder may be used that waits for a step. @returns a function that
 * allows steps again
 */
async function stopSteps(): Promise<() => Promise<void>> {
  const session = await platform.reserve()
  await session`begin`
  await session`lock table gateway.step_lock in exclusive mode`
  let allowSteps = async () => {
    allowSteps = async () => {}
    await session`rollback`
    session.release()
  }
  onTestFinished(() => allowSteps())
  return () => allowSteps()
}

/** Creates a voucher and its record. @returns the body of a request that resolves the voucher */
async function buildOne(columns = {}) {
  const reference = `NOW-${await build.voucher(tenantId)}`
  await build.voucher(tenantId, { reference, ...balance, ...columns })
  expect((await client.resolve(secret, tenantId, { voucher_reference: reference })).status).toBe(200)
  return { voucher_reference: reference }
}

test.each([
  ['a balance that was spent', 'current_balance = 0', { reason_code: 'no_balance', voucher: { current_balance: 0 } }],
  ['a voucher that was voided', 'void = true', { reason_code: 'void', voucher: { void: true } }],
])('a resolution shows %s before the request', async (_, change, wanted) => {
  const name = await buildOne()
  await stopSteps()
  await platform`update purchased_voucher set ${platform.unsafe(change)} where reference = ${name.voucher_reference}`
  expect((await resolve(secret, tenantId, name)).body.data).toMatchObject(wanted)
})

test('a voucher whose balance v1 cannot show is 422, also after a step', async () => {
  const name = await buildOne()
  await platform`update purchased_voucher set current_balance = 0.001 where reference = ${name.voucher_reference}`
  for (const find of [resolve, client.resolve]) {
    expect(faultyFields(await find(secret, tenantId, name))).toEqual(['voucher_reference'])
  }
})

test.each([
  ['deleted', () => platform`delete from purchased_voucher`],
  ['moved out of scope', () => platform`update purchased_voucher set tenant_id = ${otherTenant}`],
  ['renamed', () => platform`update purchased_voucher set reference = 'Renamed'`],
])('a voucher that was %s is 503 while no step is made, and then 404', async (_, change) => {
  const name = await buildOne()
  const allowSteps = await stopSteps()
  await platform`${change()} where reference = ${name.voucher_reference}`
  const refused = await resolve(secret, tenantId, name)
  expect(flawOf(refused, 503)).toBeNull()
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  await allowSteps()
  expect(flawOf(await client.resolve(secret, tenantId, name), 404)).toBeNull()
})

test('until a step, a change of the tree makes vouchers 503, and one of vouchers only unknown ones', async () => {
  const name = await buildOne()
  await stopSteps()
  await build.product(tenantId)
  expect((await resolve(secret, tenantId, { voucher_reference: 'unknown' })).status).toBe(404)
  await build.voucher(otherTenant)
  expect((await resolve(secret, tenantId, { voucher_reference: 'unknown' })).status).toBe(503)
  expect((await resolve(secret, tenantId, name)).status).toBe(200)
  await platform`update tenant set parent_id = ${tenantId} where id = ${otherTenant}`
  expect((await resolve(secret, tenantId, name)).status).toBe(503)
})

test('each of 400 resolutions shows the change that was committed before it', async () => {
  const names = await Promise.all(Array.from({ length: 20 }, () => buildOne()))
  await stopSteps()
  // With two writers, a resolution could share a statement that began before the last change, which would be wrong.
  await Promise.all(
    [names.slice(0, 10), names.slice(10)].map(async half => {
      const references = half.map(name => name.voucher_reference)
      for (let round = 1; round <= 20; round++) {
        const state = { current_balance: ((round * 7) % 50) / 100, void: round % 3 === 0 }
        await platform`update purchased_voucher set ${platform(state)} where reference in ${platform(references)}`
        const answers = await Promise.all(half.map(name => resolve(secret, tenantId, name)))
        for (const { body } of answers) expect(body.data.voucher).toMatchObject(state)
      }
    }),
  )
})

test('a resolution is 500 while the mapping of vouchers does not fit the source', async () => {
  const name = await buildOne()
  await platform`alter table purchased_voucher rename void_reason to why`
  expect((await resolve(secret, tenantId, name)).status).toBe(500)
  await platform`alter table purchased_voucher rename why to void_reason`
  expect((await resolve(secret, tenantId, name)).status).toBe(200)
})

test('a voucher whose mapping fails is 422', async () => {
  const name = await buildOne()
  await platform`alter table purchased_voucher alter initial_balance type text`
  await platform`update purchased_voucher set initial_balance = 'n/a' where reference = ${name.voucher_reference}`
  for (const find of [resolve, client.resolve]) expect(flawOf(await find(secret, tenantId, name), 422)).toBeNull()

  await platform`alter table purchased_voucher alter initial_balance type numeric using 1`
  const [{ text }] = await platform<[{ text: string }]>`
    select replace(files ->> 'select', ' void_reason,', ' (select ''two'' from generate_series(1, 2)) as void_reason,') as text
    from gateway.mapping where record = 'voucher'`
  await platform`call gateway.install_mapping('voucher', ${text}, '{}')`
  expect(flawOf(await resolve(secret, tenantId, name), 422)).toBeNull()
})
