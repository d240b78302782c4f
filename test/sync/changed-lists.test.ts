/** Tests that the command sync asks which lists changed, and reads only these lists. */
import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Changes } from '../../packages/client/src/documents.ts'
import type { SyncEvent } from '../../packages/sync/src/event.ts'
import { describeEvent } from '../../packages/sync/src/sentence.ts'
import { createEndpoint, pauseEndpoint } from '../../src/domain/event/endpoint.ts'
import { createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { directoryPlace, readService } from '../support/copies.ts'
import { startHostileService } from '../support/hostile-service.ts'
import { projected } from '../support/projected.ts'
import { createWorld, sync } from '../support/reference-sync.ts'

/** Returns the paths that a sync requests. */
async function requestsOf(run: () => Promise<unknown>): Promise<string[]> {
  const requests = vi.spyOn(globalThis, 'fetch')
  try {
    await run()
    return requests.mock.calls.map(([url]) => new URL(String(url)).pathname.replace(/^.*\/v1/, ''))
  } finally {
    requests.mockRestore()
  }
}

test('a round asks for changes once, and reads only the lists that changed', async () => {
  const { chain, venue, sold, copyIn, platform } = await createWorld(60)
  await platform`insert into tenant (name, parent_id) select 'Tenant ' || n, ${chain} from generate_series(1, 60) n`
  const { run, expectInStep } = copyIn(directoryPlace())
  expect((await run()).code).toBe(0)
  // Each run first checks that the service answers, and at the end requests the webhooks of the token.
  expect(await requestsOf(() => run())).toEqual(['/tenants', '/graphql', '/graphql'])
  await platform`update purchased_voucher set void = true where id = ${sold[0]!}`
  await platform`delete from customer where tenant_id = ${venue}`
  expect(await requestsOf(() => run())).toEqual([
    ...['/tenants', '/graphql', '/graphql', '/graphql'],
    `/tenants/${chain}/sales/purchased-vouchers`,
    `/tenants/${venue}/customers/marketing-signups`,
    '/graphql',
  ])
  await expectInStep()
  await platform`update tenant set name = 'Renamed' where id = ${venue}`
  // Two pages of tenants.
  expect((await requestsOf(() => run())).filter(path => path === '/tenants')).toHaveLength(1 + 2)
  await expectInStep()
})

test('a run reports each webhook of its token that gets no events once', async () => {
  const { token, copyIn, pool, platform } = await createWorld(1)
  const { run } = copyIn(directoryPlace())
  const add = (name: string) => createEndpoint(pool, tester, token.id, `https://partner.example.com/${name}`)
  const [failing, paused] = [await add('failing'), await add('paused'), await add('active')]
  await platform`update gateway.webhook_endpoint set failing_since = now() where id = ${failing.id}`
  await pauseEndpoint(pool, tester, paused.id)
  const { code, events } = await run()
  expect(code).toBe(0)
  const found = events.filter(({ event }) => event === 'webhook').map(event => describeEvent(event, null))
  expect(found).toEqual([
    expect.stringMatching(/failing fails since \d.*Look at the log of the receiver/),
    expect.stringMatching(/paused is paused since \d.*ask an administrator/),
  ])
})

test('a copy is complete after a sync with another selection, and after its token got another tenant', async () => {
  const { build, origin, chain, sold, token, copyIn, pool, platform } = await createWorld(20)
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
  await projected(pool)
  await platform`insert into gateway.token_tenant (token_id, tenant_id) values (${token.id}, ${other})`
  // The service caches a token for half a second.
  await expect
    .poll(async () => Object.keys(await readService(origin, token.secret)))
    .toContain(`tenants ${other} ${other}`)
  expect((await run()).code).toBe(0)
  await expectInStep()
})

test('a change of the token reaches the copy, even when only one instance knows the change', async () => {
  const { build, origin, token, copyIn, pool, platform } = await createWorld(5)
  const other = await build.tenant()
  await build.voucher(other)
  const { run, expectInStep } = copyIn(directoryPlace())
  expect((await run()).code).toBe(0)
  const send = globalThis.fetch
  /**
   * Runs a sync, and changes the token when the sync asks for the changes. An instance that has not yet read a token
   * answers.
   */
  const runDuring = async (change: () => Promise<unknown>) => {
    const { app } = await createApp({ pool })
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
})

test('a directory gets the changes of a round that failed before it wrote its files', async () => {
  const { chain, sold, copyIn, platform } = await createWorld(5)
  const place = directoryPlace()
  const { run, expectInStep } = copyIn(place)
  expect((await run()).code).toBe(0)
  await platform`update purchased_voucher set void = true where id = ${sold[0]!}`
  const obstacle = join(place.to, 'purchased-vouchers', `${chain}.ndjson.tmp`)
  mkdirSync(obstacle)
  const { code, error } = await run()
  expect([code, error?.message]).toEqual([1, expect.stringContaining('.ndjson.tmp')])
  rmdirSync(obstacle)
  expect(await run()).toMatchObject({ code: 0, events: [{}, { event: 'in_step', received: 0 }] })
  await expectInStep()
})

test('a selected list that the token may not read is requested again when the permissions change', async () => {
  const { origin, token, pool, platform } = await createWorld(5)
  const place = directoryPlace()
  await projected(pool)
  const permit = (permissions: string) =>
    platform`update gateway.token set permissions = ${permissions}::text::text[] where id = ${token.id}`
  await permit('{view_vouchers}')
  const lists = ['catalog-vouchers', 'marketing-signups'] as const
  let rounds = 0
  let isRead = false
  let permitting: Promise<unknown> | undefined
  const { events } = await sync(origin, token.secret, place, {
    ...{ watch: 1, selection: { tenants: null, lists: new Set(lists) } },
    stopAt(event: SyncEvent) {
      isRead ||= event.event === 'progress' && event.list === 'marketing-signups'
      if (event.event !== 'in_step') return false
      if (++rounds === 3) permitting = permit('{view_vouchers,export_customer_information}').execute()
      return isRead
    },
  })
  await permitting
  expect(events.filter(({ event }) => event === 'failed').length).toBeGreaterThanOrEqual(3)
  expect(await place.read()).toEqual(await readService(origin, token.secret, lists))
})

test('--follow copies each change, and reports nothing else', async () => {
  const { origin, chain, venue, token, pool, platform } = await createWorld(20)
  const place = directoryPlace()
  const writes = [
    () => platform`update purchased_voucher set void = true
      where id = (select min(id) from purchased_voucher where tenant_id = ${chain})`,
    () => platform`delete from customer where tenant_id = ${venue}`,
    () => platform`update tenant set parent_id = null where id = ${venue}`,
  ]
  await projected(pool)
  let writing: Promise<unknown> = Promise.resolve()
  const { code, events } = await sync(origin, token.secret, place, {
    watch: 'follow',
    stopAt({ event }: SyncEvent) {
      if (event !== 'in_step') return false
      const write = writes.shift()
      writing = Promise.resolve(write?.()).then(() => projected(pool))
      return write === undefined
    },
  })
  await writing
  expect([code, events.at(-1)]).toEqual([0, { event: 'stopped' }])
  const rounds = events.flatMap(event => (event.event === 'in_step' ? [[event.received > 0, event.removed]] : []))
  expect(rounds).toEqual([[true, 0], [true, 0], [false, 1], expect.arrayContaining([1])])
  expect(await place.read()).toEqual(await readService(origin, token.secret))
})

test('a sync reads all lists of a service without `changes`, and asks again after five minutes', async () => {
  const service = await startHostileService()
  service.answers.changes = null
  const now = performance.now.bind(performance)
  let passed = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
  /** The number of requests for changes before the end of each round. */
  const asked: number[] = []
  const requests = vi.spyOn(globalThis, 'fetch')
  try {
    const { code, events } = await sync(service.url, 'token', directoryPlace(), {
      watch: 1,
      stopAt({ event }: SyncEvent) {
        if (event !== 'in_step') return false
        asked.push(requests.mock.calls.filter(([, init]) => String(init?.body).includes(Changes.id)).length)
        if (asked.length === 3) passed = 301_000
        return asked.length === 4
      },
    })
    expect([code, asked]).toEqual([0, [1, 1, 1, 2]])
    const found = events.filter(({ event }) => event === 'no_changes' || event === 'failed')
    expect(found).toEqual([{ event: 'no_changes', message: 'Cannot query field "changes" on type "Query".' }])
  } finally {
    requests.mockRestore()
    clock.mockRestore()
  }
})
