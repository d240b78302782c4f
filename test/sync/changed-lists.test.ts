/** The command sync asks which lists changed, and reads these alone. */
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Changes } from '../../packages/client/src/documents.ts'
import type { SyncEvent } from '../../packages/sync/src/event.ts'
import { createApp } from '../support/app.ts'
import { directoryPlace, readService } from '../support/copies.ts'
import { startHostileService } from '../support/hostile-service.ts'
import { projected } from '../support/projected.ts'
import { createWorld, sync } from '../support/reference-sync.ts'

const tenants = 150

/** Returns the paths that a sync requests. */
async function requestsOf(run: () => Promise<unknown>): Promise<string[]> {
  const requests = vi.spyOn(globalThis, 'fetch')
  try {
    await run()
    return requests.mock.calls.map(([url]) =>
      String(url)
        .replace(/^.*\/v1/, '')
        .replace(/^http:\/\/[^/]+/, '')
        .replace(/\?.*/, ''),
    )
  } finally {
    requests.mockRestore()
  }
}

/** The request with which each run looks whether the service is there. */
const probe = '/tenants'

test('a round over many tenants of which none changed is one request; else it reads what changed', async () => {
  const { database, chain, venue, sold, copyIn } = await createWorld(60)
  const { platform } = database
  await platform`insert into tenant (name, parent_id) select 'Tenant ' || n, ${chain} from generate_series(1, ${tenants}::int) n`
  const { run, expectInStep } = copyIn(directoryPlace())
  expect((await run()).code).toBe(0)
  expect(await requestsOf(() => run())).toEqual([probe, '/graphql'])
  await platform`update purchased_voucher set void = true where id = ${sold[0]!}`
  await platform`delete from customer where tenant_id = ${venue}`
  expect(await requestsOf(() => run())).toEqual([
    ...[probe, '/graphql', '/graphql', '/graphql'],
    `/tenants/${chain}/sales/purchased-vouchers`,
    `/tenants/${venue}/customers/marketing-signups`,
  ])
  await expectInStep()
  await platform`update tenant set name = 'Renamed' where id = ${venue}`
  const pages = Math.ceil((tenants + 2) / 50)
  expect(await requestsOf(() => run())).toEqual([probe, '/graphql', '/graphql', ...Array(pages).fill('/tenants')])
  await expectInStep()
})

test('a copy that was read with another selection, or whose token got another tenant, lacks nothing', async () => {
  const { database, build, origin, chain, sold, token, copyIn } = await createWorld(20)
  const { platform } = database
  const { run, expectInStep } = copyIn(directoryPlace())
  expect((await run()).code).toBe(0)
  await build.product(chain)
  await platform`delete from customer where tenant_id = ${chain}`
  const selection = { tenants: null, lists: new Set(['purchased-vouchers'] as const) }
  for (let round = 0; round < 2; round++) {
    await platform`update purchased_voucher set void = true where id = ${sold[round]!}`
    expect((await run({ selection })).code).toBe(0)
  }
  expect((await run({ selection: { tenants: new Set([chain]), lists: null } })).code).toBe(0)
  expect((await run()).code).toBe(0)
  await expectInStep()

  const other = await build.tenant()
  await build.voucher(other)
  await projected(database.pool)
  expect((await run()).code).toBe(0)
  await platform`insert into gateway.token_tenant (token_id, tenant_id) values (${token.id}, ${other})`
  // The service keeps a token for half a second.
  await expect
    .poll(() => readService(origin, token.secret).then(found => JSON.stringify(found)))
    .toContain(`"tenant_id":${other}`)
  expect((await run()).code).toBe(0)
  await expectInStep()
})

test('a change of the token reaches the copy, although only the instance that names the changes knows it yet', async () => {
  const { database, build, origin, venue, token, copyIn } = await createWorld(5)
  const { platform } = database
  const other = await build.tenant()
  await build.voucher(other)
  const { run, expectInStep } = copyIn(directoryPlace())
  expect((await run()).code).toBe(0)
  const send = globalThis.fetch
  /** Syncs, and changes the token when the changes are asked for: the answer comes from an instance that has read no token before. */
  const runDuring = async (change: () => Promise<unknown>) => {
    const { app } = await createApp(database)
    const fresh = await app.listen({ host: '127.0.0.1', port: 0 })
    const requests = vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
      if (!String(init?.body).includes(Changes.id)) return send(url, init)
      await change()
      return send(String(url).replace(origin, fresh), init)
    })
    try {
      return await run()
    } finally {
      requests.mockRestore()
    }
  }
  const tenantsOf = async () => JSON.stringify(await readService(origin, token.secret))

  await runDuring(() => platform`insert into gateway.token_tenant (token_id, tenant_id) values (${token.id}, ${other})`)
  await expect.poll(tenantsOf).toContain(`"tenant_id":${other}`)
  await expectInStep()

  await runDuring(
    () => platform`delete from gateway.token_tenant where (token_id, tenant_id) = (${token.id}, ${other})`,
  )
  await expect.poll(tenantsOf).not.toContain(`"tenant_id":${other}`)
  await expectInStep()

  const permit = (permissions: string) =>
    platform`update gateway.token set permissions = ${permissions}::text::text[] where id = ${token.id}`
  const { code, error } = await runDuring(() => permit('{view_vouchers,view_orders}'))
  expect([code, error?.message]).toEqual([3, expect.stringContaining('may not read the marketing signups')])
  await platform`delete from customer where tenant_id = ${venue}`
  await runDuring(() => permit('{view_vouchers,view_orders,export_customer_information}'))
  await expectInStep()
})

test('a directory gets the changes of a round that ended before it could write its files', async () => {
  const { database, chain, sold, copyIn } = await createWorld(5)
  const place = directoryPlace()
  const { run, expectInStep } = copyIn(place)
  expect((await run()).code).toBe(0)
  await database.platform`update purchased_voucher set void = true where id = ${sold[0]!}`
  const obstacle = join(place.to, 'purchased-vouchers', `${chain}.ndjson.tmp`)
  mkdirSync(obstacle)
  const { code, error } = await run()
  expect([code, error?.message]).toEqual([1, expect.stringContaining('.ndjson.tmp')])
  rmdirSync(obstacle)
  expect(await run()).toMatchObject({ code: 0, events: [{}, { event: 'in_step', received: 0 }] })
  await expectInStep()
})

test('a round that reads nothing writes nothing, also when a list that is not selected is unfinished', async () => {
  const { copyIn } = await createWorld(120)
  const place = directoryPlace()
  const { run, expectInStep } = copyIn(place)
  const isUnfinished = (event: SyncEvent) =>
    event.event === 'progress' && event.list === 'purchased-vouchers' && !event.done
  expect((await run({ stopAt: isUnfinished })).code).toBe(130)
  const selection = { tenants: null, lists: new Set(['catalog-vouchers'] as const) }
  expect((await run({ selection })).code).toBe(0)
  const readCheckpoint = () => readFileSync(join(place.to, '.sync', 'checkpoint.json'), 'utf8')
  const before = readCheckpoint()
  expect((await run({ selection })).code).toBe(0)
  expect(readCheckpoint()).toBe(before)
  expect((await run()).code).toBe(0)
  await expectInStep()
})

test('a list that is named, and that the token may not read, is asked for again when the token has other rights', async () => {
  const { database, origin, token } = await createWorld(5)
  const place = directoryPlace()
  await projected(database.pool)
  const permit = (permissions: string) =>
    database.platform`update gateway.token set permissions = ${permissions}::text::text[] where id = ${token.id}`
  await permit('{view_vouchers}')
  const lists = ['catalog-vouchers', 'marketing-signups'] as const
  let rounds = 0
  let isRead = false
  let permitting: Promise<unknown> = Promise.resolve()
  let events: SyncEvent[] = []
  const requests = await requestsOf(async () => {
    const found = await sync(origin, token.secret, place, {
      ...{ watch: 1, selection: { tenants: null, lists: new Set(lists) } },
      stopAt(event: SyncEvent) {
        isRead ||= event.event === 'progress' && event.list === 'marketing-signups'
        if (event.event !== 'in_step') return false
        if (++rounds === 3) permitting = Promise.resolve(permit('{view_vouchers,export_customer_information}'))
        return isRead
      },
    })
    events = found.events
  })
  await permitting
  const ofSignups = requests.filter(path => path.endsWith('/marketing-signups'))
  // Once in the first round, and once for each of the two tenants when it is permitted.
  expect(ofSignups).toHaveLength(3)
  expect(events.filter(({ event }) => event === 'failed').length).toBeGreaterThanOrEqual(3)
  expect(await place.read()).toEqual(await readService(origin, token.secret, lists))
})

test('--follow takes each change, and reports only these', async () => {
  const { database, origin, chain, venue, token } = await createWorld(20)
  const place = directoryPlace()
  const writes = [
    () =>
      database.platform`update purchased_voucher set void = true where id = (select min(id) from purchased_voucher where tenant_id = ${chain})`,
    () => database.platform`delete from customer where tenant_id = ${venue}`,
    () => database.platform`update tenant set parent_id = null where id = ${venue}`,
  ]
  await projected(database.pool)
  let writing: Promise<unknown> = Promise.resolve()
  const { code, events } = await sync(origin, token.secret, place, {
    watch: 'follow',
    stopAt({ event }: SyncEvent) {
      if (event !== 'in_step') return false
      const write = writes.shift()
      writing = Promise.resolve(write?.()).then(() => projected(database.pool))
      return write === undefined
    },
  })
  await writing
  expect([code, events.at(-1)]).toEqual([0, { event: 'stopped' }])
  const rounds = events
    .filter(event => event.event === 'in_step')
    .map(({ received, removed }) => [received > 0, removed])
  expect(rounds).toEqual([
    [true, 0],
    [true, 0],
    [false, 1],
    [expect.any(Boolean), 1],
  ])
  expect(await place.read()).toEqual(await readService(origin, token.secret))
})

test('a service that names no changes is read as a whole; that is said once, and asked again after five minutes', async () => {
  const service = await startHostileService()
  const { changes } = service.answers
  service.answers.changes = null
  const now = performance.now.bind(performance)
  let passed = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
  let rounds = 0
  /** The number of requests for changes before the end of each round. */
  const asked: number[] = []
  const requests = vi.spyOn(globalThis, 'fetch')
  try {
    const { code, events } = await sync(service.url, 'token', directoryPlace(), {
      watch: 1,
      stopAt({ event }: SyncEvent) {
        if (event !== 'in_step') return false
        asked.push(requests.mock.calls.filter(([, init]) => String(init?.body).includes(Changes.id)).length)
        rounds += 1
        if (rounds >= 3) passed += 301_000
        if (rounds === 4) service.answers.changes = changes
        return rounds === 6
      },
    })
    expect([code, asked]).toEqual([0, [1, 1, 1, 2, 3, 4]])
    expect(events.filter(({ event }) => event === 'no_changes')).toEqual([
      { event: 'no_changes', message: 'Cannot query field "changes" on type "Query".' },
    ])
    expect(events.filter(({ event }) => event === 'failed')).toEqual([])
  } finally {
    requests.mockRestore()
    clock.mockRestore()
  }
})
