/**
 * The soak as a command: `npm run soak -- --minutes 60`. Mixed load, faults of the database and hostile documents run all
 * the time; the process's memory, descriptors, event listeners and backends have to stay where they were.
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

/** The allowed growth from the second quarter to the last one: the first quarter is warm-up. */
const allowed: Record<keyof Sample, { ratio: number; more: number }> = {
  // Node collects garbage when it likes; a leak of a byte a request would show as more.
  residentMb: { ratio: 1.1, more: 20 },
  descriptors: { ratio: 1, more: 5 },
  listeners: { ratio: 1, more: 5 },
  backends: { ratio: 1, more: 2 },
}

/** The longest that a call may take, in milliseconds: its deadline, and what a busy machine adds. */
const callLimit = 8_000

/** The shortest run that judges memory, in minutes: in a shorter one the heap still grows to its usual size. */
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
      // A comment makes each document a new one, for caches too.
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

/** Breaks the database in turn, with a quiet time after each fault. @returns how often */
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
// Not `Math.max(...)`: an hour has more calls than a function takes arguments.
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
