/**
 * Callers send more requests than the service can answer: the service answers as many as possible in time, and refuses
 * the others.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTokenSecret } from '../../src/domain/token/secret.ts'
import { freePort } from '../support/free-port.ts'
import { callLimit, isShort } from './support/form.ts'
import { generateLoad, type LoadOrder } from './support/load-generator.ts'
import { repeat } from './support/repeat.ts'
import { residentMb } from './support/sampler.ts'
import { startWorld } from './support/start.ts'

const seconds = isShort ? 5 : 15

const { world, start } = await startWorld('overload')
const healthPort = await freePort()
const service = await start({ HEALTH_PORT: String(healthPort) })
const origin = new URL(service.restAddress)
const port = Number(origin.port)
const requests = world.owners.flatMap(({ operations }) => operations)

const usualConnections = 1_024

const megabytes = () => residentMb(service.child.pid ?? 0)

/**
 * Returns the limit of resident memory. A Node server without a framework takes 25 KiB per connection with an unsent
 * answer.
 */
const mostMegabytes = (connections: number) => 350 + (connections * 30) / 1_024

const send = (order: Partial<LoadOrder>) =>
  generateLoad({ port, rate: null, seconds, requests, connections: usualConnections, ...order })

async function findCapacity(): Promise<number> {
  await send({ rate: 300, seconds: 4 })
  let best = 0
  for (const connections of isShort ? [64] : [32, 64, 128])
    best = Math.max(best, (await send({ connections, seconds: 4 })).throughput)
  return best
}

/**
 * Requests a page every 200 ms until `until` resolves. @returns the time of each answer in milliseconds; 0 for an
 * answer whose status is not 200
 */
async function watch(url: string, until: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const stop = repeat(async () => {
    const start = performance.now()
    const { status } = await fetch(url)
    times.push(status === 200 ? performance.now() - start : 0)
    await pause(200)
  })
  await until
  await stop()
  return times
}

const capacity = await findCapacity()

test.each<[string, Partial<LoadOrder>]>([
  ['1,024 callers that repeat at once', {}],
  ['1,024 callers that repeat at once, with a connection for each request', { reconnects: true }],
  ['four times what it can serve', { rate: 4 * capacity }],
  ['sixteen times what it can serve', { rate: 16 * capacity }],
  ['sixteen times what it can serve, on 8,192 connections', { rate: 16 * capacity, connections: 8_192 }],
])('%s: answers are in time, other requests are refused, and health checks are 200', async (_, order) => {
  const load = send(order)
  const [live, ready, pages] = await Promise.all([
    watch(`http://127.0.0.1:${healthPort}/livez`, load),
    watch(`http://127.0.0.1:${healthPort}/readyz`, load),
    watch(`${origin.origin}/admin/login`, load),
  ])
  const outcome = await load
  console.log({
    capacity,
    lag: outcome.lag,
    throughput: outcome.throughput,
    p50: outcome.quantile(200, 0.5),
    p99: outcome.quantile(200, 0.99),
    refused: outcome.latencies[503]?.length,
    refusedP50: outcome.quantile(503, 0.5),
    refusedP99: outcome.quantile(503, 0.99),
    live: Math.max(...live),
    ready: Math.max(...ready),
    pages: Math.max(...pages),
    megabytes: megabytes(),
  })
  const { 200: answered = [], 503: refused = [], ...others } = outcome.latencies
  expect(others).toEqual({})
  expect(answered.length).toBeGreaterThan(0)
  expect([outcome.lost, outcome.unanswered, outcome.withoutRetryAfter]).toEqual([0, 0, 0])
  for (const took of [...live, ...pages]) expect(took).toBeGreaterThan(0)
  // The checks of /readyz have a time limit of a second: on a busy machine, some take longer.
  expect(ready.filter(took => took > 0).length).toBeGreaterThan(isShort ? ready.length / 2 : ready.length - 1)
  expect(megabytes()).toBeLessThan(mostMegabytes(order.connections ?? usualConnections))
  // The short form runs beside other work, so the capacity that it measured is not reliable.
  if (isShort) return
  expect(refused.length).toBeGreaterThan(0)
  expect(outcome.quantile(200, 0.99)).toBeLessThan(1_000)
  expect(outcome.quantile(503, 0.99)).toBeLessThan(callLimit)
  // The load generator runs on the same cores, and takes more of their time than during the measurement of the
  // capacity.
  expect(outcome.throughput).toBeGreaterThan(0.6 * capacity)
  expect(Math.max(...live, ...ready, ...pages)).toBeLessThan(1_000)
})

test('many unknown tokens from one address are refused without lookups, and others get their answers', async () => {
  const [operation] = requests
  const flood = Array.from({ length: 500 }, () => ({ ...operation!, secret: createTokenSecret() }))
  const alone = await send({ rate: 200, seconds: 4 })
  const connections = 64
  const flooding = send({ rate: 1_000, seconds: 5, requests: flood, connections })
  const beside = await send({ rate: 200, seconds: 4 })
  const outcome = await flooding
  const { 401: unknown = [], 429: refused = [] } = outcome.latencies
  const [usual, now] = [alone.quantile(200, 0.5), beside.quantile(200, 0.5)]
  console.log({ usual, now, unknown: unknown.length, refused: refused.length })
  expect(Object.keys(beside.latencies).filter(status => status !== '200' && status !== '503')).toEqual([])
  expect(beside.latencies[200]?.length).toBeGreaterThan(0)
  // The limit is 100 unknown tokens in 10 s. When it is reached, up to `connections` more lookups are under way.
  expect(unknown.length).toBeLessThanOrEqual(100 + connections)
  expect(refused.length).toBeGreaterThan(0)
  if (isShort) return
  expect(beside.latencies[200]).toHaveLength(beside.sent)
  // Without the limit of unknown tokens, the other requests waited for 148 ms instead of 21 ms.
  expect(now).toBeLessThan(usual + 50)
})
