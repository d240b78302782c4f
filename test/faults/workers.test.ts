/** `serve --workers`: several processes that behave as one service. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { onTerminal, run, type Service, serve, start } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { until as untilHolds } from '../support/until.ts'
import { ask, expectExactBurst } from './support/burst.ts'
import { logLinesIn } from './support/log-lines.ts'

const twoWorkers = { args: ['--workers', '2'] }

/** Returns the process ids of the workers that listen, by number; after a restart, the id of the newest process. */
const workersIn = (printed: string) =>
  new Map(
    logLinesIn(printed).flatMap(({ worker, pid, msg }) =>
      worker && /listening/.test(msg) ? [[worker, pid] as const] : [],
    ),
  )
const workersOf = (service: Service) => workersIn(service.printed())
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const until = (what: string, holds: () => unknown) => untilHolds(what, holds, 60_000)

test('two workers on an embedded database share rate limits, setup link and log, and stop together', async () => {
  const environment = { DATA_DIR: createDirectory(), LOG_LEVEL: 'info' }
  const service = await serve(environment, { ...onTerminal, ...twoWorkers })
  expect(service.printed().match(/\/setup\//g)).toHaveLength(1)
  // The lines about the workers may arrive later, because the log is written in batches.
  await until('both workers listen', () => workersOf(service).size === 2)
  const first = workersOf(service)
  expect([...first.keys()].sort()).toEqual([1, 2])
  expect(new Set(first.values()).size).toBe(2)

  const newSecret = async () => {
    const created = await run(['token', 'create', '--name', 'Burst', '--rate-limit', '1200', '--json'], environment)
    return String(JSON.parse(created.stdout).token)
  }
  const secret = await expectExactBurst([service], newSecret, 2000, 1200)

  // A killed worker is replaced, the calls that it counted stay counted, and the other worker answers in the meantime.
  const killed = first.get(1) ?? 0
  process.kill(killed, 'SIGKILL')
  await until('the worker is gone', () => !isAlive(killed))
  expect((await ask(service.restAddress, secret)).status).toBe(429)
  await until('another worker listens', () => workersOf(service).get(1) !== killed)
  expect(logLinesIn(service.printed()).map(({ msg }) => msg)).toContain('a worker ended, and is started again')
  for (let call = 0; call < 6; call++) expect((await ask(service.restAddress, secret)).status).toBe(429)

  const pids = [...workersOf(service).values()]
  expect(await service.stop('SIGTERM')).toBe(0)
  expect(pids.filter(isAlive)).toEqual([])
})

/** Starts two workers on a database whose connections carry no more data as soon as the first worker listens. */
async function startBeforeSilence() {
  const { address } = await createDatabase()
  const proxy = await startProxy(() => join(address.host, `.s.PGSQL.${address.port}`))
  onTestFinished(() => proxy.stop())
  const url = `postgres://${address.user}@127.0.0.1:${proxy.port}/${address.database}`
  const started = start(['serve', '--workers', '2'], { DATABASE_URL: url, PORT: '0' })
  let isListening = false
  for (const stream of [started.child.stdout, started.child.stderr]) {
    stream.on('data', () => {
      if (isListening || workersIn(started.printed()).size === 0) return
      isListening = true
      proxy.silence()
    })
  }
  return { proxy, ...started }
}

test('a worker that cannot start is started again, and /readyz counts the workers that listen meanwhile', async () => {
  const { child, proxy, ended, printed } = await startBeforeSilence()
  const ready = async () => {
    const response = await fetch(`${/http:\/\/[\w.]+:\d+/.exec(printed())?.[0]}/readyz`)
    return { status: response.status, workers: (await response.json()).workers }
  }
  await until('the second worker has ended', () => {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}: ${printed()}`)
    return /a worker ended/.test(printed())
  })
  expect(await ready()).toEqual({ status: 503, workers: { listening: 1, total: 2 } })
  proxy.accept()
  await until('both listen', () => workersIn(printed()).size === 2)
  await until('it is ready', async () => (await ready()).status === 200)
  expect((await ready()).workers).toEqual({ listening: 2, total: 2 })

  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})

test('a worker that starts when SIGTERM arrives ends at once, and the log reports how the service stops', async () => {
  const { child, proxy, ended, printed } = await startBeforeSilence()
  await until('the first worker listens', () => workersIn(printed()).size === 1)
  const before = proxy.accepted()
  await until('the second worker starts', () => proxy.accepted() > before)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect([...workersIn(printed()).keys()]).toEqual([1])
  const messages = logLinesIn(printed()).map(({ worker, msg }) => `${worker ?? 'primary'}: ${msg}`)
  const stopOf = (who: string) => [`${who}: the service stops`, `${who}: the service has stopped`]
  expect(messages).toEqual(expect.arrayContaining([...stopOf('primary'), ...stopOf('1'), '1: draining']))
})

test('workers end when their primary is killed, and a service whose workers cannot listen does not start', async () => {
  const database = await createDatabase()
  const environment = { DATABASE_URL: database.url, LOG_LEVEL: 'info' }
  const service = await serve(environment, twoWorkers)
  const pids = [...workersOf(service).values()]
  const port = new URL(service.restAddress).port
  await expect(serve({ ...environment, PORT: port }, twoWorkers)).rejects.toThrow('Another program listens')
  await service.stop('SIGKILL')
  await until('the workers are gone', () => !pids.some(isAlive))
})
