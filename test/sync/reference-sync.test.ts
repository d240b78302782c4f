/**
 * Tests the rounds of the reference sync against the service over HTTP, for each kind of store that this version of
 * Node has.
 */
import { describe, expect, test } from 'vitest'
import { Checkpoint } from '../../packages/sync/src/checkpoint.ts'
import type { SyncEvent } from '../../packages/sync/src/event.ts'
import { readTarget } from '../../packages/sync/src/target.ts'
import { directoryPlace, everyPlace, postgresPlace, readService } from '../support/copies.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { createWorld, sync } from '../support/reference-sync.ts'

describe.each(everyPlace)('a copy in %s', async (_kind, placeOf) => {
  const { build, origin, chain, venue, sold, token, copyIn, platform, url } = await createWorld()
  const place = placeOf(url)
  const { run, expectInStep } = copyIn(place)

  test('is complete after a first pass that was stopped and resumed', async () => {
    const stopped = await run({ stopAt: (event: SyncEvent) => event.event === 'progress' && event.received === 50 })
    expect([stopped.code, stopped.events.at(-1)]).toEqual([130, { event: 'stopped' }])
    expect((await run({ task: 'status' })).code).toBe(7)
    const dry = await run({ task: 'dry run' })
    const list = 'purchased-vouchers'
    expect(dry.events).toContainEqual({ event: 'would_read', tenant: chain, list, count: 70 })
    const finished = await run()
    expect(finished).toMatchObject({ code: 0, error: undefined })
    // The first pages of the list of vouchers were not read again.
    const vouchers = finished.events.filter(event => event.event === 'progress' && event.received > 100)
    expect(vouchers).toMatchObject([{ tenant: chain, list, received: 120, done: true }])
    await expectInStep()
    expect((await run({ task: 'status' })).code).toBe(0)
  })

  test('is not in step while a full pass is unfinished', async () => {
    expect((await run({ full: true, stopAt: ({ event }) => event === 'progress' })).code).toBe(130)
    expect((await run({ task: 'status' })).code).toBe(7)
    expect((await run()).code).toBe(0)
    expect((await run({ task: 'status' })).code).toBe(0)
  })

  test('contains changes, additions, deletions, moves and withdrawals of consent after a round', async () => {
    const [changed = 0, deleted = 0, moved = 0] = sold
    await platform`update purchased_voucher set product_title = 'Changed' where id = ${changed}`
    await platform`delete from purchased_voucher where id = ${deleted}`
    await platform`update purchased_voucher set tenant_id = ${venue} where id = ${moved}`
    await platform`update customer set marketing_opted = false where tenant_id = ${chain}`
    await platform`insert into purchased_voucher (tenant_id, reference) values (${chain}, 'New')`
    const { code, events } = await run()
    expect(code).toBe(0)
    expect(events.at(-1)).toMatchObject({ event: 'in_step', received: 3, removed: 3 })
    await expectInStep()
  })

  test('contains added tenants and no removed tenants after a round', async () => {
    const added = await build.tenant({ parent_id: chain })
    await platform`insert into purchased_voucher (tenant_id, reference) values (${added}, 'Added')`
    await platform`update tenant set parent_id = null where id = ${venue}`
    const { code, events } = await run()
    expect(code).toBe(0)
    expect(events).toContainEqual({ event: 'left', tenant: venue })
    expect(Object.keys(await place.read())).toContain(`tenants ${added} ${added}`)
    await expectInStep()
  })

  test('is read again after a restore, which also deletes records whose removal is no longer reported', async () => {
    const [, , , lost = 0] = sold
    await platform`delete from purchased_voucher where id = ${lost}`
    await projected(platform)
    await platform`delete from gateway.removal where id = ${lost}`
    await platform`select gateway.require_full_pass()`
    const { code, events } = await run()
    expect(code).toBe(0)
    expect(events.filter(({ event }) => event === 'full_pass')).toHaveLength(1)
    await expectInStep()
  })

  test('reports a lost permission, and is complete again after the permission is granted again', async () => {
    const customer = await build.customer(chain)
    expect((await run()).code).toBe(0)
    await platform`update gateway.token set permissions = array_remove(permissions, 'export_customer_information')`
    await expect.poll(async () => (await run()).code).toBe(3)
    await platform`update customer set marketing_opted = false where id = ${customer}`
    const message = expect.stringContaining(`marketing signups of tenant ${chain} any more`)
    expect(await run()).toMatchObject({ code: 3, error: { message } })
    await platform`update gateway.token set permissions = array_append(permissions, 'export_customer_information')`
    await expect.poll(async () => (await run()).code).toBe(0)
    await expectInStep()
  })

  test('can be used by only one sync at a time', async () => {
    const open = () => readTarget(place.to, 'voucher_gateway_copy')!.open()
    const first = await open()
    try {
      const message = expect.stringContaining('syncs to this copy')
      await expect(open()).rejects.toMatchObject({ exitCode: 6, message })
      await first.commit([], new Map())
    } finally {
      await first.close()
    }
    expect((await run()).code).toBe(0)
  })

  test('continues at another address of its service, and after a restore there only with --full', async () => {
    const address = origin.replace('127.0.0.1', 'localhost')
    // Simulates a copy of a version that did not store the id of the service.
    const store = await readTarget(place.to, 'voucher_gateway_copy')!.open()
    const checkpoint = new Checkpoint(store.positions)
    await store.commit([], checkpoint.setCopy({ ...checkpoint.copy!, service: null }))
    await store.close()
    expect((await run()).code).toBe(0)
    const { code, events } = await sync(address, token.secret, place)
    expect([code, events[1]]).toEqual([0, { event: 'moved', from: origin, url: address }])
    await platform`select gateway.require_full_pass()`
    expect(await run()).toMatchObject({ code: 2, error: { message: expect.stringContaining('restored or copied') } })
    expect((await run({ full: true, stopAt: ({ event }) => event === 'moved' })).code).toBe(130)
    expect((await run()).code).toBe(2)
    expect(await run({ full: true })).toMatchObject({ code: 0, error: undefined })
    await expectInStep()
  })

  test('does not continue with another service', async () => {
    const other = await createWorld(1)
    const { code, error } = await sync(other.origin, other.token.secret, place)
    expect([code, error]).toMatchObject([2, { message: expect.stringContaining(`holds a copy of ${origin}`) }])
  })
})

test('the name of the schema in PostgreSQL may be a keyword of SQL', async () => {
  const { url, copyIn } = await createWorld(1)
  const { run, expectInStep } = copyIn(postgresPlace(url, '"user"'))
  expect(await run({ schema: 'user' })).toMatchObject({ code: 0, error: undefined })
  await expectInStep()
})

test('a watch opens its copy again after an outage of the database', async () => {
  const { origin, chain, token, platform } = await createWorld(1)
  const { url, address } = await createEmptyDatabase()
  const place = postgresPlace(url)
  const name = address.database
  let outage: Promise<unknown> | undefined
  let end: Promise<unknown> | undefined
  const allow = (isAllowed: boolean) => platform.unsafe(`alter database ${name} allow_connections ${isAllowed}`)
  const breakOff = () => platform`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
  const insert = () => platform`insert into purchased_voucher (tenant_id, reference) values (${chain}, 'Later')`
  const { code, events } = await sync(origin, token.secret, place, {
    watch: 1,
    stopAt(event) {
      if (event.event === 'in_step') outage ??= allow(false).then(breakOff)
      if (event.event === 'wait') end ??= insert().then(() => allow(true))
      return end !== undefined && event.event === 'in_step' && event.received > 0
    },
  })
  await Promise.all([outage, end])
  expect([code, events.find(({ event }) => event === 'failed')]).toMatchObject([
    0,
    { message: expect.stringMatching(/^The copy in .* cannot be written: /) },
  ])
  expect(await place.read()).toEqual(await readService(origin, token.secret))
})

describe('a token', async () => {
  const { build, origin, chain, venue, platform } = await createWorld()

  test('without a permission gives a copy without that list', async () => {
    const { secret } = await build.token([chain], { permissions: ['view_vouchers', 'view_orders'] })
    const place = directoryPlace()
    const { code, events } = await sync(origin, secret, place)
    expect(code).toBe(0)
    const message = expect.stringContaining('export_customer_information')
    expect(events).toContainEqual({ event: 'skipped', list: 'marketing-signups', message })
    expect(await place.read()).toEqual(await readService(origin, secret, ['catalog-vouchers', 'purchased-vouchers']))
    const lists = new Set(['marketing-signups'] as const)
    const asked = await sync(origin, secret, directoryPlace(), { selection: { tenants: null, lists } })
    expect(asked.code).toBe(3)
  })

  test('that lacks a selected tenant gives a copy of the other selected tenants, and exit code 3', async () => {
    const { secret } = await build.token([chain, venue])
    const place = directoryPlace()
    const selection = { tenants: new Set([venue, 999_999]), lists: null }
    const found = await sync(origin, secret, place, { selection })
    expect(found).toMatchObject({ code: 3, error: { message: expect.stringContaining('999999') } })
    const tenants = new Set(Object.keys(await place.read()).map(key => key.split(' ')[1]))
    expect(tenants).toEqual(new Set([String(venue)]))
  })

  test('that loses a tenant gives a copy without this tenant', async () => {
    const { id, secret } = await build.token([chain, venue])
    const place = directoryPlace()
    expect((await sync(origin, secret, place)).code).toBe(0)
    await platform`delete from gateway.token_tenant where token_id = ${id} and tenant_id = ${venue}`
    await expect
      .poll(async () => (await sync(origin, secret, place)).events)
      .toContainEqual({ event: 'left', tenant: venue })
    expect(await place.read()).toEqual(await readService(origin, secret))
  })
})
