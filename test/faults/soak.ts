/**
 * The soak as a command: `npm run soak -- --minutes 60`. Callers, faults of the database and hostile documents run all
 * the time; the memory, descriptors, event listeners and backends of the process must not grow.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { buildService, root } from '../../bench/harness/packages.ts'
import { startService } from '../../bench/harness/processes.ts'
import { hostileRequests } from '../graphql/hostile-documents.ts'
import { startLoad } from './support/load.ts'
import { createSampler, type Sample, samplePreload } from './support/sampler.ts'
import { createFaultServer } from './support/server.ts'
import { startSync } from './support/sync.ts'
import { createWorld } from './support/world.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error('--minutes takes a number above 0.')

/** The allowed growth from the second quarter of the run to the last quarter. The first quarter is warm-up. */
const allowed: Record<keyof Sample, { ratio: number; more: number }> = {
  // Node may collect garbage late, but a leak of one byte per request would exceed this limit.
  residentMb: { ratio: 1.1, more: 20 },
  descriptors: { ratio: 1, more: 5 },
  listeners: { ratio: 1, more: 5 },
  backends: { ratio: 1, more: 2 },
}

/** The maximum time of a call, in milliseconds: the deadline of the call, and the delay on a busy machine. */
const callLimit = 8_000

/**
 * The minimum length of a run that checks memory, in minutes. In a shorter run the heap still grows to its usual size.
 */
const memoryMinutes = 10

buildService(root)
const server = await createFaultServer()
await server.start()
const world = await createWorld(server, 'soak')
const service = await startService(
  { checkout: root, databaseUrl: server.url(world.database) },
  { nodeOptions: ['--import', samplePreload], settings: { LOG_LEVEL: 'fatal' } },
)
const { origin } = service
const load = startLoad(() => origin, world)
const sync = startSync(origin, world, () => server)
const sample = createSampler(service.pid, server, world.database)
let stopped = false

async function sendHostile(): Promise<number> {
  const [owner] = world.owners
  const headers = { authorization: `Bearer ${owner?.secret}`, 'content-type': 'application/json' }
  let sent = 0
  while (!stopped) {
    for (const hostile of hostileRequests()) {
      if (stopped) break
      // A comment makes each document different, so that no cache has it.
      const body = hostile.body.replace('","variables":', ` # ${sent}","variables":`)
      await fetch(`${origin}/graphql`, { method: 'POST', headers, body }).then(
        response => response.arrayBuffer(),
        () => null,
      )
      sent += 1
      await pause(20)
    }
  }
  return sent
}

/** Causes one fault of the database after the other, with a pause after each. @returns the number of faults */
async function breakDatabase(): Promise<number> {
  const faults = [
    async () => {
      await server.use(
        world.database,
        sql => sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'voucher-gateway'`,
      )
    },
    () => server.crash(),
    async () => {
      server.freeze()
      await pause(7_000)
      server.thaw()
    },
    async () => {
      await server.stop()
      await server.start()
    },
  ]
  let count = 0
  const quiet = Math.min(30_000, (minutes * 60_000) / 20)
  while (!stopped) {
    await pause(quiet)
    if (!stopped) await faults[count++ % faults.length]?.()
  }
  return count
}

const running = [sendHostile(), breakDatabase()] as const
const samples: Sample[] = []
const interval = Math.min(5_000, (minutes * 60_000) / 80)
for (const end = Date.now() + minutes * 60_000; Date.now() < end; ) {
  await pause(interval)
  const taken = await sample().catch(() => null)
  if (taken) samples.push(taken)
}
stopped = true
const [hostile, faults] = await Promise.all(running)
await load.succeed(300)
const lost = await sync.findLost()
const calls = await load.stop()
await service.stop()
await server.remove()

const quarter = (n: number) => samples.slice(Math.floor(((n - 1) * samples.length) / 4), (n * samples.length) / 4)
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const measures = Object.keys(allowed) as (keyof Sample)[]
const rows = measures.map(measure => {
  const medians = [1, 2, 3, 4].map(n => median(quarter(n).map(one => one[measure])))
  const [, second = 0, , fourth = 0] = medians
  const { ratio, more } = allowed[measure]
  const isJudged = measure !== 'residentMb' || minutes >= memoryMinutes
  return { measure, medians, isFlat: !isJudged || fourth <= second * ratio + more }
})
const foreign = calls.filter(({ isForeign }) => isForeign).length
const refused = calls.filter(({ status }) => status !== 200 && status !== 503)
// `Math.max(...)` would fail: an hour has more calls than a function can take arguments.
const slowest = calls.reduce((most, { took }) => Math.max(most, took), 0)
const broken = calls.filter(({ isWhole }) => !isWhole).length
console.log(
  `${minutes} minutes, ${calls.length} calls, ${hostile} hostile documents, ${faults} faults, ${sync.changes} changes\n` +
    rows
      .map(({ measure, medians, isFlat }) => `${measure}: ${medians.join(', ')} (quarters)${isFlat ? '' : ' GROWS'}`)
      .join('\n') +
    `\ncalls that were neither 200 nor 503: ${refused.length}, incomplete answers: ${broken}, slowest call: ${slowest.toFixed(0)} ms, ` +
    `records of other tenants: ${foreign}, records lost by the sync: ${lost.length}`,
)
const failures = refused.length + broken + foreign + lost.length
process.exit(rows.every(({ isFlat }) => isFlat) && failures === 0 && slowest < callLimit ? 0 : 1)
