/** The log of the service while the database is stopped, and while no process reads the log. */
import { execFileSync, spawn } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { v1 } from '../support/app.ts'
import { createDirectory } from '../support/directory.ts'
import { freePort } from '../support/free-port.ts'
import { start as run } from '../support/process.ts'
import { until } from '../support/until.ts'
import { startLoad } from './support/load.ts'
import { logLinesIn } from './support/log-lines.ts'
import { startWorld } from './support/start.ts'

const { server, world, start } = await startWorld('log')

test('an outage under load causes about one log line per second, and a line when the outage is over', async () => {
  const service = await start({ LOG_LEVEL: 'info' })
  const load = startLoad(() => service.origin, world)
  await load.succeed(100)
  const from = service.printed().length
  const stopped = performance.now()
  await server.stop('SIGQUIT')
  await pause(5_000)
  await server.start()
  await load.succeed(100)
  const failed = (await load.stop()).filter(({ status }) => status === 503).length
  await until('the outage is over', async () => service.printed().includes('the outage is over'), 20_000)
  const lines = logLinesIn(service.printed().slice(from))
  const seconds = (performance.now() - stopped) / 1_000
  expect(failed).toBeGreaterThan(100)
  // Stacks are logged for the outage and for background jobs that fail with another error, not for each call.
  const stacks = lines.filter(({ err }) => err).length
  expect(stacks).toBeGreaterThan(0)
  expect(stacks).toBeLessThanOrEqual(3)
  const counted = lines.filter(({ causes }) => causes)
  expect(counted.length).toBeGreaterThanOrEqual(3)
  // The lines are those with a stack, one per second, and one for the end of the outage.
  expect(lines.length).toBeLessThan(seconds + 5)
  // A line has at most five request ids. The line of a second has fewer when only background jobs fail.
  expect(Math.max(...counted.map(({ requestIds = [] }) => requestIds.length))).toBe(5)
  expect(counted.reduce((sum, { count = 0 }) => sum + count, 1)).toBeGreaterThanOrEqual(failed)
  expect(await service.stop('SIGTERM')).toBe(0)
})

/** Starts the service with a pipe as its standard output, which the test reads only when it calls `read`. */
async function startOnPipe() {
  const path = join(createDirectory(), 'pipe')
  execFileSync('mkfifo', [path])
  // The pipe is opened for reading and writing: otherwise `openSync` would wait for a process at the other end.
  const fd = openSync(path, constants.O_RDWR)
  const port = await freePort()
  const environment = { DATABASE_URL: server.url(world.database), PORT: String(port), LOG_REQUESTS: 'all' }
  const { child, ended } = run(['serve'], environment, { shell: `exec "$@" >${path}` })
  /** Sends a request without a token. @returns the status, or 0 when no answer arrives within 5 s */
  const ask = async (id: string) => {
    const headers = { 'x-request-id': id, accept: 'application/json' }
    const signal = AbortSignal.timeout(5_000)
    const answer = await fetch(`http://127.0.0.1:${port}${v1}/tenants`, { headers, signal }).catch(() => null)
    await answer?.body?.cancel()
    return answer?.status ?? 0
  }
  await until('the service listens', async () => (await ask('start')) === 401, 20_000)
  return {
    child,
    ended,
    async askMany(count: number) {
      const statuses = new Set<number>()
      let next = 0
      const caller = async () => {
        while (next < count) statuses.add(await ask(`request-${next++}`))
      }
      await Promise.all(Array.from({ length: 8 }, caller))
      return statuses
    },
    read() {
      let text = ''
      const reader = spawn('cat', { stdio: [fd, 'pipe', 'inherit'] })
      reader.stdout?.on('data', chunk => {
        text += chunk
      })
      onTestFinished(() => void reader.kill())
      return () => text
    },
  }
}

const requestsIn = (text: string) => logLinesIn(text).filter(({ reqId }) => reqId?.startsWith('request-'))

test('when no process reads the log, the service still answers all requests and stops on SIGTERM', async () => {
  const service = await startOnPipe()
  expect(await service.askMany(5_000)).toEqual(new Set([401]))
  const asked = performance.now()
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
  expect(performance.now() - asked).toBeLessThan(10_000)
})

test('when over a million characters of log wait for a reader, further lines are dropped and counted', async () => {
  const service = await startOnPipe()
  const asked = 10_000
  await service.askMany(asked)
  const text = service.read()
  const droppedIn = (text: string) => logLinesIn(text).reduce((sum, { lines = 0 }) => sum + lines, 0)
  await expect.poll(() => requestsIn(text()).length + droppedIn(text()), { timeout: 10_000 }).toBe(asked)
  expect(droppedIn(text())).toBeGreaterThan(1000)
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
})

test('SIGTERM loses no log line, even when the log is read only after the signal', async () => {
  const service = await startOnPipe()
  const asked = 2_000
  await service.askMany(asked)
  service.child.kill('SIGTERM')
  const text = service.read()
  expect(await service.ended).toBe(0)
  await until('all is read', async () => requestsIn(text()).length === asked, 5_000)
})
