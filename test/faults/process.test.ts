/** The process is stopped and killed while callers send requests, and is started again on the same port. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connect } from '../support/connect.ts'
import { freePort } from '../support/free-port.ts'
import { run } from '../support/process.ts'
import { isShort } from './support/form.ts'
import { startLoad, withoutRetryAfter } from './support/load.ts'
import { startWorld } from './support/start.ts'
import { startSync } from './support/sync.ts'

/** The number of stops, and the maximum time of a stop in milliseconds. */
const stops = isShort ? 3 : 20
const stopLimit = 10_000

const { server, world, start: serve } = await startWorld('process')
const port = await freePort()
const origin = `http://127.0.0.1:${port}`
const start = () => serve({ PORT: String(port), SHUTDOWN_DELAY: '0' })

async function interrupt(signal: 'SIGTERM' | 'SIGKILL', times: number) {
  let service = await start()
  const load = startLoad(() => origin, world)
  const sync = startSync(origin, world, () => server)
  const codes: (number | null)[] = []
  const took: number[] = []
  for (let time = 0; time < times; time++) {
    await load.succeed(100)
    const asked = performance.now()
    codes.push(await service.stop(signal))
    took.push(performance.now() - asked)
    await pause(50)
    service = await start()
  }
  await load.succeed(100)
  const lost = await sync.findLost()
  const calls = await load.stop()
  await service.stop('SIGTERM')
  return { calls, codes, slowest: Math.max(...took), lost }
}

test('after SIGTERM under load, requests under way are answered, and the process ends within 10 s', async () => {
  const { calls, codes, slowest, lost } = await interrupt('SIGTERM', stops)
  expect(codes).toEqual(Array.from({ length: stops }, () => 0))
  expect(slowest).toBeLessThan(stopLimit)
  // Status 0: no process listens, or the connection was closed when the request arrived. Status 503: a process that has
  // just started refuses requests that may have waited for a long time.
  expect(calls.filter(({ status }) => ![0, 200, 503].includes(status))).toEqual([])
  // When the process stops listening, the kernel resets connections that the process has not yet accepted.
  expect(calls.filter(({ status, reused }) => status === 0 && reused)).toEqual([])
  expect(withoutRetryAfter(calls)).toEqual([])
  expect(calls.filter(({ status, isWhole }) => status !== 0 && !isWhole)).toEqual([])
  expect(calls.filter(({ isForeign }) => isForeign)).toEqual([])
  expect(lost).toEqual([])
})

test('under load, a sync that resumes after SIGKILL misses no change', async () => {
  const { codes, lost, calls } = await interrupt('SIGKILL', 2)
  expect(codes).toEqual([null, null])
  expect(calls.filter(({ isForeign }) => isForeign)).toEqual([])
  expect(lost).toEqual([])
})

test('when the last statement of the start fails, the process ends with code 1', async () => {
  const owner = connect(server.url(world.database), { max: 1, statementTimeoutMs: 0 })
  await owner.begin(async sql => {
    await sql`lock table gateway.administrator in access exclusive mode`
    // `run` kills the process after a minute.
    const { code, stderr } = await run(['serve'], { DATABASE_URL: server.url(world.database), PORT: '0' })
    expect(code).toBe(1)
    expect(stderr).toContain('statement timeout')
  })
  await owner.end()
})
