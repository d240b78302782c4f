/** Two instances are restarted one after the other, while callers send requests through a load balancer, or directly. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'
import { startLoad, withoutRetryAfter } from './support/load.ts'
import { type Backend, startLoadBalancer } from './support/load-balancer.ts'
import { startWorld } from './support/start.ts'

const stops = isShort ? 2 : 20
const timeout = stops * 15_000 + 60_000

const { world, start: serve } = await startWorld('rolling')

const start = ({ port, healthPort }: Backend, delay: number) =>
  serve({ PORT: String(port), HEALTH_PORT: String(healthPort), SHUTDOWN_DELAY: String(delay) })
const createBackend = async () => ({ port: await freePort(), healthPort: await freePort() })

const untilReady = ({ healthPort }: Backend) =>
  until(
    'the instance is ready',
    async () => {
      const answer = await fetch(`http://127.0.0.1:${healthPort}/readyz`).catch(() => null)
      await answer?.body?.cancel()
      return answer?.status === 200
    },
    20_000,
  )

test.each(['haproxy', 'nginx'] as const)('a rolling restart under load behind %s loses no request', {
  timeout,
}, async kind => {
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
    // On a busy machine, a process that has just started refuses a few requests that have waited for long.
    expect(withoutRetryAfter(calls)).toEqual([])
    expect(calls.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(isShort ? calls.length / 100 : 0)
  } finally {
    await load.stop()
    await balancer.stop()
    await Promise.all(services.map(service => service.stop('SIGTERM')))
  }
})
