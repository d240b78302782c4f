/** The connections to the database carry no more data but stay open, as after a failover or when a pooler hangs. */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { ProcessOptions } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { expectBounded, type Load, startLoad } from './support/load.ts'
import { startWorld } from './support/start.ts'
import { operationOf } from './support/world.ts'

/**
 * The maximum times, in milliseconds: from the beginning of the silence until the service works, and from SIGTERM until
 * the process ends.
 */
const limits = { service: 15_000, stop: 10_000 }

const { server, world, start } = await startWorld('silence')

async function startService(options: ProcessOptions = {}) {
  const proxy = await startProxy(() => server.port)
  const DATABASE_URL = `postgres://postgres@127.0.0.1:${proxy.port}/${world.database}`
  const service = await start({ DATABASE_URL, RATE_STORE: 'postgres' }, options)
  onTestFinished(async () => {
    await service.stop('SIGKILL')
    proxy.stop()
  })
  return { proxy, service, load: (callers?: number) => startLoad(() => service.origin, world, callers) }
}

/**
 * Waits until no call fails that was sent after `began` and in the last half second. @returns the time since `began`,
 * in milliseconds
 */
async function untilFullService({ calls }: Load, began: number): Promise<number> {
  const isFull = () => {
    const recent = calls.filter(({ sent }) => sent > Math.max(began, performance.now() - 500))
    return recent.length >= 20 && recent.every(({ status }) => status === 200)
  }
  await until('there is full service', isFull, 2 * limits.service)
  return performance.now() - began
}

test.each([
  ['forever, while new ones work', 0],
  ['forever, and new ones for six seconds', 6_000],
])('connections silent %s: every answer is in time, and then all calls succeed again', async (_, silence) => {
  const { proxy, load } = await startService()
  const running = load()
  await running.succeed(300)
  expect(proxy.accepted()).toBeGreaterThan(10)
  const began = performance.now()
  proxy.silence()
  await pause(silence)
  proxy.accept()
  const took = await untilFullService(running, began)
  const calls = await running.stop()
  expect(took).toBeLessThan(limits.service)
  expectBounded(calls)
})

test('a single caller is served again without waiting for each silent connection', async () => {
  const { proxy, load } = await startService()
  const busy = load()
  await busy.succeed(300)
  await busy.stop()
  const began = performance.now()
  proxy.silence()
  proxy.accept()
  const single = load(1)
  const took = await untilFullService(single, began)
  expectBounded(await single.stop())
  expect(took).toBeLessThan(limits.service)
})

test.each([false, true])('SIGTERM ends a service whose connections are silent (under load: %s)', async isBusy => {
  const { proxy, service, load } = await startService()
  const running = load()
  await running.succeed(300)
  if (!isBusy) await running.stop()
  proxy.silence()
  await pause(1_000)
  const began = performance.now()
  expect(await service.stop('SIGTERM')).toBe(0)
  expect(performance.now() - began).toBeLessThan(limits.stop)
  if (isBusy) await running.stop()
})

test('SIGTERM ends workers while their connections are silent and their callers send slowly', async () => {
  const { proxy, service, load } = await startService({ args: ['--workers', '2'] })
  const running = load()
  await running.succeed(300)
  const { path, secret } = operationOf(world, 'resolution')
  const { hostname, port } = new URL(service.restAddress)
  const head = ['Host: x', 'Accept: application/json', 'Content-Type: application/json', 'Content-Length: 100']
  const slow = Array.from({ length: 10 }, () => {
    const socket = connect(Number(port), hostname).on('error', () => {})
    const lines = [`POST ${path} HTTP/1.1`, ...head, `Authorization: Bearer ${secret}`, '', '{']
    socket.write(lines.join('\r\n'))
    return socket
  })
  await pause(200)
  proxy.silence()
  const began = performance.now()
  await service.stop('SIGTERM')
  expect(performance.now() - began).toBeLessThan(limits.stop)
  await running.stop()
  for (const socket of slow) socket.destroy()
})
