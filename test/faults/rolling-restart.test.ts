/** Two instances are restarted one after the other, while callers send requests through a proxy of deploy/. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { certificate, startReverseProxy } from '../deploy/reverse-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'
import { startLoad, withoutRetryAfter } from './support/load.ts'
import { startWorld } from './support/start.ts'

const stops = isShort ? 2 : 20
const timeout = stops * 15_000 + 60_000

const { world, start: serve } = await startWorld('rolling')

const ports = { service: await freePort(), health: await freePort() }
/** The proxies of the tests send requests to these two addresses. */
const hosts = ['127.0.0.1', '127.0.0.3'] as const
const start = (HOST: string) =>
  serve({ HOST, PORT: String(ports.service), HEALTH_PORT: String(ports.health), SHUTDOWN_DELAY: '2' })

const isReady = async (host: string) => (await fetch(`http://${host}:${ports.health}/readyz`).catch(() => null))?.ok
const untilReady = (host: string) => until('the instance is ready', () => isReady(host), 20_000)

test.each(['haproxy', 'nginx'] as const)('a rolling restart behind %s loses no request', { timeout }, async kind => {
  const services = await Promise.all(hosts.map(start))
  await Promise.all(hosts.map(untilReady))
  const { https } = await startReverseProxy(kind, ports)
  const agent = new Agent({ keepAlive: true, ca: readFileSync(certificate), servername: 'localhost' })
  const load = startLoad(() => `https://127.0.0.1:${https}`, world, 16, agent)
  try {
    for (let time = 0; time < stops; time++) {
      await load.succeed(200)
      const at = time % 2
      const stopping = services[at]?.stop('SIGTERM')
      await load.succeed(50)
      expect(await stopping).toBe(0)
      services[at] = await start(hosts[at]!)
      await untilReady(hosts[at]!)
      // Waits until the proxy has noticed that the instance is ready.
      await pause(1_100)
    }
    const calls = await load.stop()
    const lost = calls.filter(({ status }) => status !== 200 && status !== 503)
    expect(lost.map(({ name, status }) => `${name} ${status}`)).toEqual([])
    // On a busy machine, a process that has just started refuses a few requests that have waited too long.
    expect(withoutRetryAfter(calls)).toEqual([])
    expect(calls.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(isShort ? calls.length / 100 : 0)
  } finally {
    await load.stop()
    await Promise.all(services.map(service => service.stop('SIGTERM')))
  }
})
