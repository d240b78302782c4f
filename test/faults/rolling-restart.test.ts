/** Two instances are restarted one after the other, while callers send requests through a load balancer, or directly. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { serve } from '../support/process.ts'
import { isShort } from './support/form.ts'
import { startLoad, withoutRetryAfter } from './support/load.ts'
import { type Backend, startLoadBalancer } from './support/load-balancer.ts'
import { createFaultServer, freePort } from './support/server.ts'
import { createWorld } from './support/world.ts'

const stops = isShort ? 2 : 20
const timeout = stops * 15_000 + 60_000

const server = await createFaultServer()
await server.start()
const world = await createWorld(server, 'rolling')
afterAll(() => server.remove())

const start = ({ port, healthPort }: Backend, delay: number) =>
  serve({
    DATABASE_URL: server.url(world.database),
    PORT: String(port),
    HEALTH_PORT: String(healthPort),
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'fatal',
    SHUTDOWN_DELAY: String(delay),
  })
const createBackend = async () => ({ port: await freePort(), healthPort: await freePort() })

async function untilReady({ healthPort }: Backend): Promise<void> {
  for (const limit = Date.now() + 20_000; Date.now() < limit; await pause(20)) {
    const answer = await fetch(`http://127.0.0.1:${healthPort}/readyz`).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.status === 200) return
  }
  throw new Error('The instance does not become ready.')
}

describe('a rolling restart under load', () => {
  test.each(['haproxy', 'nginx'] as const)('behind %s loses no request', { timeout }, async kind => {
    const backends = [await createBackend(), await createBackend()]
    const services = await Promise.all(backends.map(backend => start(backend, 2)))
    await Promise.all(backends.map(untilReady))
    const balancer = await startLoadBalancer(kind, backends)
    const load = startLoad(() => balancer.origin, world)
    try {
      for (let time = 0; time < stops; time++) {
        await load.succeed(200)
        const at = time % 2
        const stopping = services[at]?.stop('SIGTERM')
        await load.succeed(50)
        expect(await stopping).toBe(0)
        services[at] = await start(backends[at]!, 2)
        await untilReady(backends[at]!)
        // The load balancer has noticed it too.
        await pause(1_100)
      }
      const calls = await load.stop()
      const lost = calls.filter(({ status }) => status !== 200 && status !== 503)
      expect(lost.map(({ name, status }) => `${name} ${status}`)).toEqual([])
      // On a busy machine a process that has just started refuses a few that waited long for it.
      expect(withoutRetryAfter(calls)).toEqual([])
      expect(calls.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(isShort ? calls.length / 100 : 0)
    } finally {
      await load.stop()
      await balancer.stop()
      await Promise.all(services.map(service => service.stop('SIGTERM')))
    }
  })
})

test('a caller that uses its connections all the time gets an answer to each request that it sent on one', {
  timeout,
}, async () => {
  const backend = await createBackend()
  let service = await start(backend, 0)
  const load = startLoad(() => `http://127.0.0.1:${backend.port}`, world)
  for (let time = 0; time < stops; time++) {
    await load.succeed(100)
    expect(await service.stop('SIGTERM')).toBe(0)
    service = await start(backend, 0)
  }
  const calls = await load.stop()
  await service.stop('SIGTERM')
  // The kernel resets connections that it has accepted and the process has not, when the process stops listening.
  const lost = calls.filter(({ status, reused }) => status !== 200 && reused)
  expect(lost.map(({ name, status, error }) => `${name} ${status} ${error}`)).toEqual([])
})
