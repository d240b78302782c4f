/**
 * Of several instances, the instance with the lease sends. Another instance continues with the windows that were not
 * delivered.
 */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Pool } from '../../src/db/sql.ts'
import { listDeliveries } from '../../src/domain/event/delivery.ts'
import { createEndpoint } from '../../src/domain/event/endpoint.ts'
import { createHeadFeed } from '../../src/domain/event/head-feed.ts'
import { createWebhookSender } from '../../src/webhook/sender.ts'
import { createApp } from '../support/app.ts'
import { tester, whole } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { answerWith, type Received, startReceiver } from './receiver.ts'

test('when an instance stops, no event is lost or repeated, and a slow receiver is not failing', async () => {
  const environment = { WEBHOOK_NETWORKS: '127.0.0.0/8', WEBHOOK_KEY: randomBytes(32).toString('hex') }
  const { build, database, client } = await startService(environment)
  const tenant = await build.tenant()
  await projected(database.pool)
  const receiver = await startReceiver()
  const token = await build.token([whole(tenant)])
  const { id: endpoint } = await createEndpoint(database.pool, tester, token.id, receiver.url)
  await build.voucher(tenant)
  await until('an event of the first instance', () => receiver.received.length === 1)

  await createApp(database, environment)
  // The delivery that the stop interrupts gets no answer.
  receiver.respond = () => null
  await build.voucher(tenant)
  await until('a try', () => receiver.received.length === 2)
  await client.app.close()
  const [, interrupted] = receiver.received
  receiver.respond = answerWith(204)
  await until('the interrupted event', () => receiver.delivered().some(({ id }) => id === interrupted?.id))
  await build.voucher(tenant)
  await until('a later event', () => receiver.delivered().length === 3)
  const [first, second, third] = receiver.delivered()
  expect(second?.updated_since).toBe(first?.server_time)
  expect(third?.updated_since).toBe(second?.server_time)
  // Only the other instance repeats the interrupted delivery.
  expect(receiver.received.filter(({ id }) => id === interrupted?.id)).toHaveLength(2)
  // The interrupted delivery is not recorded, because it neither succeeded nor failed.
  const tries = await until('three tries', async () => {
    const listed = await listDeliveries(database.pool, endpoint, 10)
    return listed.length > 2 ? listed : null
  })
  expect(tries.map(({ status, error }) => [status, error])).toEqual([1, 2, 3].map(() => [204, null]))
})

/** Starts the sender of a process. All its deliveries succeed. */
function startSender(pool: Pool) {
  const sent: Pick<Received, 'updated_since' | 'server_time'>[] = []
  const errors: unknown[] = []
  const feed = createHeadFeed(pool, error => errors.push(error))
  const sender = createWebhookSender(pool, feed, {
    origin: 'https://gateway.example.com',
    post: async (_endpoint, { body }) => {
      sent.push(JSON.parse(body))
      return { status: 204, error: null, durationMs: 1, retryAfter: null }
    },
    report: error => errors.push(error),
  })
  onTestFinished(() => sender.close())
  return { sent, errors, feed, sender }
}

test('a process that lost its lease sends no event, and later continues where its successor ended', async () => {
  const database = await createDatabase()
  const { pool, platform, build } = database
  const tenant = await build.tenant()
  const token = await build.token([whole(tenant)])
  const { id } = await createEndpoint(pool, tester, token.id, 'https://partner.example.com/hook')
  const [stopped, successor] = [startSender(pool), startSender(pool)]
  const sell = async () => {
    await build.voucher(tenant)
    await projected(pool)
  }
  await stopped.sender.hold()
  await sell()
  const [first] = await until('the first event', () => (stopped.sent.length > 0 ? stopped.sent : null))

  await until('its outcome is recorded', async () => (await listDeliveries(pool, id, 1)).length > 0)
  // The lease ends in the database before the process renews it.
  await platform`update gateway.webhook_sender set held_until = '-infinity'`
  await successor.sender.hold()
  let batches = 0
  await stopped.feed.listen(() => batches++)
  await sell()
  const [second] = await until('the second event', () => (successor.sent.length > 0 ? successor.sent : null))
  expect(second?.updated_since).toBe(first?.server_time)
  // The feed publishes lists once per second, and the process checks its lease at each batch.
  await until('the stopped process has tried', () => batches > 15)
  expect(stopped.sent).toHaveLength(1)

  await successor.sender.close()
  const { now } = performance
  vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 10_000)
  onTestFinished(() => void vi.restoreAllMocks())
  await stopped.sender.hold()
  await sell()
  const [, third] = await until('the third event', () => (stopped.sent.length > 1 ? stopped.sent : null))
  expect(third?.updated_since).toBe(second?.server_time)
  expect([...stopped.errors, ...successor.errors]).toEqual([])
})
