import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { revokeToken } from '../../../src/domain/token/lifecycle.ts'
import { tester } from '../../../test/support/builders.ts'
import { afterFile } from '../../../test/support/cleanups.ts'
import { listen } from '../../../test/support/free-port.ts'
import { projected } from '../../../test/support/projected.ts'
import { until } from '../../../test/support/until.ts'
import { type ListChanges, VoucherGateway, type VoucherGatewayError, type WatchOptions } from '../src/index.ts'
import { startProxyWithClient, startService } from './support.ts'

const service = await startService({ RATE_LIMIT_PER_MINUTE: '120' })
const { build, platform, pool, tenant, token } = service

test('changes returns the lists that changed since an earlier answer, and throws needsFullPass after the epoch grows', async () => {
  const client = new VoucherGateway(service)
  const customer = await build.customer(tenant)
  await projected(platform)
  const all = await client.changes()
  expect(all.rate).toEqual({ remaining: 119, resetsIn: expect.any(Number) })
  const after = all.serverTime
  const { epoch, access } = all
  expect(await client.changes({ after })).toMatchObject({ lists: [], epoch, access })
  await platform`delete from customer where id = ${customer}`
  await projected(platform)
  const since = expect.stringMatching(/^20.*Z$/)
  const lists = [{ tenantId: tenant, list: 'marketing-signups', since }]
  expect(await client.changes({ after, tenants: [tenant] })).toMatchObject({ lists })
  await platform`select gateway.require_full_pass()`
  await expect(client.changes({ after })).rejects.toMatchObject({ needsFullPass: true })
})

test('changes requests the rest of an incomplete answer, and leaves out lists that this version does not know', async () => {
  const time = (second: number) => `2026-01-31T09:30:0${second}.000000Z`
  const change = (list: string, second: number) => ({ tenantId: 1, list, since: time(second) })
  const answers = [
    { lists: [change('TENANTS', 1)], serverTime: time(1), hasMore: true },
    { lists: [change('LOCATIONS', 2), change('TENANTS', 3)], serverTime: time(3), hasMore: true },
    // The position stays the same, so the client must stop although `hasMore` is true.
    { lists: [], serverTime: time(3), hasMore: true },
  ]
  const asked: unknown[] = []
  const answer: typeof fetch = async (_, init) => {
    asked.push(JSON.parse(String(init?.body)).variables.after)
    return Response.json({ data: { changes: { epoch: 1, access: 'a', ...answers[asked.length - 1] } } })
  }
  const changes = await new VoucherGateway({ ...service, fetch: answer }).changes()
  expect(changes).toMatchObject({ lists: [change('tenants', 3)], serverTime: time(3) })
  expect(asked).toEqual([undefined, time(1), time(3)])
})

/** Collects the results of a watch until it ends. */
function collectRounds(client: VoucherGateway, options: WatchOptions = {}) {
  const rounds: ListChanges[] = []
  const stop = new AbortController()
  let error: VoucherGatewayError | undefined
  const read = async () => {
    for await (const round of client.watchChanges({ ...options, signal: stop.signal })) rounds.push(round)
  }
  const ended = read().catch(thrown => {
    error = thrown
  })
  afterFile(() => stop.abort())
  const lists = () => rounds.flatMap(({ lists }) => lists.map(({ list }) => list))
  return { rounds, stop, ended, lists, error: () => error }
}

test('yields each change, and continues from the last position after a broken connection', async () => {
  const front = await startProxyWithClient(service, ['cut at once', { cutAfter: 900 }, 'pass'])
  const watch = collectRounds(front.client)
  const some = collectRounds(front.client, { tenants: [tenant], lists: ['catalog-vouchers'] })
  await until('both have begun', () => watch.rounds.length > 0 && some.rounds.length > 0)
  expect(watch.rounds[0]).toMatchObject({ lists: [], epoch: expect.any(Number), access: expect.any(String) })
  for (let round = 0; round < 3; round++) {
    await build.voucher(tenant)
    await until('the change has come', () => watch.lists().length > round)
    front.cut()
    await build.product(tenant)
    await until('the change of the meantime has come', () => some.lists().length > round)
  }
  expect(new Set(some.lists())).toEqual(new Set(['catalog-vouchers']))
  expect(watch.lists()).toContain('purchased-vouchers')
  watch.stop.abort()
  some.stop.abort()
  await Promise.all([watch.ended, some.ended])
  expect([watch.error(), some.error()]).toEqual([undefined, undefined])
})

test('throws the errors that a new attempt cannot solve', async () => {
  const client = new VoucherGateway(service)
  await platform`select gateway.require_full_pass()`
  const early = collectRounds(client, { after: '2020-01-01T00:00:00Z' })
  const refused = collectRounds(client, { tenants: [999_999] })
  await Promise.all([early.ended, refused.ended])
  expect([early.error()?.needsFullPass, refused.error()?.code]).toEqual([true, 'NOT_FOUND'])
  const { id, secret } = await build.token([tenant])
  const revoked = collectRounds(new VoucherGateway({ ...service, token: secret }))
  await until('it has begun', () => revoked.rounds.length > 0)
  await revokeToken(pool, tester, id)
  await revoked.ended
  expect(revoked.error()).toMatchObject({ code: 'UNAUTHENTICATED' })
})

test('throws for an answer that is not an event stream, and opens a new stream after a silent one', {
  timeout: 60_000,
}, async () => {
  const frame = (changes: object) => `event: next\r\ndata: ${JSON.stringify({ data: { changes } })}\r\n\r\n`
  const round = { lists: [], serverTime: '2026-01-31T09:30:00.000000Z', hasMore: false, epoch: 1, access: 'a' }
  let asked = 0
  const answers = [frame(round), frame({ ...round, epoch: 'x' })]
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(answers[asked++] ?? '')
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  afterFile(() => server.closeAllConnections())
  const watch = collectRounds(new VoucherGateway({ url, token, timeoutMs: 1_000 }))
  await watch.ended
  expect([watch.rounds.length, asked, watch.error()]).toMatchObject([1, 2, { code: 'INVALID_RESPONSE' }])
})
