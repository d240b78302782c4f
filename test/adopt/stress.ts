/** The stress test of an adoption as a command: `npm run stress:adopt -- --seconds 60`. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { Command } from 'commander'
import type postgres from '#postgres'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { cleanUp } from '../support/cleanups.ts'
import { addressUrl, connect, serviceRole } from '../support/connect.ts'
import { createDirectory } from '../support/directory.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { startPackaged } from '../support/packaged-postgres.ts'
import { run, start } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
import { until } from '../support/until.ts'
import { follow } from '../sync/clients.ts'
import { askThrough, clientKinds, createFollower } from '../sync/followers.ts'
import type { Instance } from '../sync/lists.ts'
import { createWholes } from '../sync/outcome.ts'
import { createRandom } from '../sync/random.ts'
import { printReport, wrongInClients } from '../sync/report.ts'
import { commitPrepared, compareFigures } from '../sync/run.ts'
import { open, poolAddress } from '../sync/seed.ts'
import { createWriterCounts, write } from '../sync/writers.ts'
import { createVenuesWork, seedVenues } from './venues.work.ts'

interface Options {
  seconds: number
  cards: number
  writers: number
  longest: number
  kills: number
  seed: number
  packaged: boolean
  replicated: boolean
  without?: string
}

const options = new Command('stress')
  .description(
    'Adopts a platform of fifteen tables beside its writers, kills `adopt apply` and the service at random, and checks that ' +
      'clients that resume end with exactly what the service holds, and records with what their sources say. Exits with 1 when ' +
      'they do not.',
  )
  .option('--seconds <seconds>', 'how long the writers run after the first fill', Number, 60)
  .option('--cards <count>', 'rows of the largest table before it', Number, 10_000)
  .option('--writers <count>', 'how many writers', Number, 4)
  .option('--longest <seconds>', 'the longest transaction', Number, 3)
  .option('--kills <count>', 'how often each of both `adopt apply` is killed', Number, 4)
  .option('--seed <number>', 'seed of the random numbers', Number, Date.now() % 1_000_000)
  .option('--packaged', 'use the PostgreSQL server of the system instead of the embedded one', false)
  .option('--replicated', 'the platform has a server of its own; both servers crash at random as well', false)
  .option('--without <file>', 'a rule that leads to no key, as if it had been forgotten: the run has to fail')
  .parse()
  .opts<Options>()

const random = createRandom(options.seed)
const venues = fileURLToPath(new URL('venues', import.meta.url))
const folder = join(createDirectory(), 'mapping')
cpSync(venues, folder, { recursive: true })

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(join(folder, file), change(readFileSync(join(folder, file), 'utf8')))
}

/** Starts the service in a process of its own, and again when it was killed, on the same port. */
async function startInstance(environment: NodeJS.ProcessEnv) {
  const port = String(await freePort())
  const serve = () => start(['serve'], { ...environment, PORT: port })
  let service = serve()
  return {
    async inject({ url, payload, ...request }: Parameters<Instance['inject']>[0]) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}${url}`, { ...request, body: payload ?? null })
        return { statusCode: response.status, body: await response.text() }
      } catch {
        // It was killed, or does not listen yet.
        return { statusCode: 503, body: '{"errors":[{"extensions":{"code":"UNAVAILABLE"}}]}' }
      }
    },
    async kill() {
      service.child.kill('SIGKILL')
      await service.ended
      service = serve()
    },
  }
}

/** Starts a server that loses no commit when it crashes. */
async function startPostgres() {
  const settings = { max_connections: '100', max_prepared_transactions: '50', wal_level: 'logical' }
  const quick = { fsync: 'off', synchronous_commit: 'on', wal_retrieve_retry_interval: '200ms' }
  const { stop, ...address } = await (options.packaged ? startPackaged : startServer)({ ...settings, ...quick })
  return { address, sql: open(address), stop }
}

type Backend = 'client backend' | 'logical replication %worker' | 'walsender'

/** Kills a process of a server as `kill -9` does, so that the server ends all others and recovers. */
async function crash(sql: postgres.Sql, name: Backend): Promise<void> {
  const [found] = await sql<{ pid: number }[]>`select pid from pg_stat_activity where backend_type like ${name} limit 1`
  if (!found) return
  // The server ends it once it has noticed the crash; until then it accepts connections.
  const noticed = sql`select pg_sleep(60)`.catch(() => {})
  process.kill(found.pid, 'SIGKILL')
  await noticed
  await until('the server answers', () => sql`select 1`.catch(() => null), 60_000)
}

const own = await startPostgres()
const platform = options.replicated ? await startPostgres() : own
const { sql } = own
const environment = {
  DATABASE_URL: addressUrl(own.address),
  ...(options.replicated && { PLATFORM_URL: addressUrl(platform.address) }),
  ...{ RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000', LOG_LEVEL: 'fatal' },
}
const pool = connect(poolAddress(own.address), { max: 2, statementTimeoutMs: 60_000, role: serviceRole })

const hasSteps = () =>
  sql`select from gateway.step limit 1`.then(
    ({ count }) => count > 0,
    () => false,
  )

/** Runs `adopt apply`, and kills it some times: every other time, when it writes records. @returns how it went */
async function apply(): Promise<string> {
  let killed = 0
  for (; killed < options.kills; killed += 1) {
    const { child, ended } = start(['adopt', 'apply', folder], environment)
    const isWriting = killed % 2 === 0 ? until('the first step', hasSteps, 300_000) : null
    const life = Promise.all([isWriting, pause(random.below(2500))])
    if ((await Promise.race([ended, life.then(() => 'over')])) !== 'over') break
    child.kill('SIGKILL')
    await ended
  }
  const began = performance.now()
  const { code, stdout, stderr } = await run(['adopt', 'apply', folder], environment, { timeout: 600_000 })
  if (code !== 0) throw new Error(`adopt apply: ${stdout}${stderr}`)
  return `killed ${killed} times, then ${Math.round(performance.now() - began)} ms: ${stdout.trim()}`
}

/** Waits until the subscription has applied all changes of the platform. */
async function caughtUp(): Promise<void> {
  const [now] = await platform.sql<{ position: string }[]>`select pg_current_wal_flush_lsn()::text as position`
  const isApplied = () => platform.sql`
    select from pg_replication_slots where active and confirmed_flush_lsn >= ${now?.position ?? ''}::text::pg_lsn`
  await until('the changes are applied', async () => (await isApplied()).count > 0, 120_000)
}

/** @returns the copies of the platform's tables that differ from these, and how many there are */
async function compareCopies() {
  const tables = await sql<{ source: string }[]>`select source from gateway.staged_table`
  const digestOf = (on: postgres.Sql, source: string) =>
    on.unsafe(`select md5(string_agg(copied::text, ' ' order by copied::text)) from ${source} copied`)
  const compared = tables.map(async ({ source }) => {
    const [copy, original] = await Promise.all([digestOf(sql, source), digestOf(platform.sql, source)])
    return isDeepStrictEqual([...copy], [...original]) ? [] : [source]
  })
  return { different: (await Promise.all(compared)).flat(), count: tables.length }
}

/** Creates tokens, and clients of all kinds for them. */
async function createClients(instances: readonly Instance[]) {
  const tenants = await sql<{ path: string; id: string }[]>`
    select path, identity.id from gateway.identity join shop.venue on venue.id::text = key where kind = 'tenant'`
  const idOf = (path: string) => Number(tenants.find(tenant => tenant.path === path)?.id)
  const grants = {
    root: [whole(idOf('group'))],
    branch: [whole(idOf('group/branch'))],
    'single tenants': ['group/a', 'group/b', 'elsewhere'].map(idOf),
  }
  return Promise.all(
    clientKinds.map(async kind =>
      createFollower(kind, instances, (await createTestToken(pool, grants[kind.scope])).secret),
    ),
  )
}

const known = await seedVenues(platform.sql, readFileSync(`${venues}.tables.sql`, 'utf8'), options.cards)
const work = createVenuesWork(known, 1000)
const counts = createWriterCounts()

/** Starts the writers. @returns ends them, and the promise of their end */
function startWriters() {
  const stop = new AbortController()
  const ended = Promise.all(
    Array.from({ length: options.writers }, (_, number) => {
      const { seed, longest, replicated: isPublisher } = options
      const writer = { address: platform.address, isPublisher, work, longest, counts, stop: stop.signal }
      return write({ ...writer, random: createRandom(seed * 1000 + number) })
    }),
  )
  return { stop, ended }
}

let writers = startWriters()
const clientsStop = new AbortController()
let following: Promise<void>[] = []

async function stopWriters(): Promise<void> {
  writers.stop.abort()
  await writers.ended
}

/** Kills the publisher between transactions: the driver does not survive one whose connection ends (tools/driver/README.md). */
async function crashPlatform(backend: Backend): Promise<void> {
  await stopWriters()
  await crash(platform.sql, backend)
  writers = startWriters()
}

async function stress(): Promise<void> {
  const checked = await run(['adopt', 'check', folder], environment)
  if (checked.code !== 0) throw new Error(`adopt check: ${checked.stdout}${checked.stderr}`)
  if (options.without) rewrite(options.without, rule => `select * from (${rule.replace(/;\s*$/, '')}) rule where false`)
  const applied = await apply()
  const instances = await Promise.all([startInstance(environment), startInstance(environment)])
  const clients = await createClients(instances)
  following = clients.map(({ pass }, number) =>
    follow(pass, createRandom(options.seed * 1000 + 500 + number), clientsStop.signal),
  )
  const kills = [
    ...instances.map(({ kill }) => kill),
    ...(options.replicated
      ? [
          () => crashPlatform('walsender'),
          () => crashPlatform('client backend'),
          () => crash(sql, 'logical replication %worker'),
        ]
      : []),
  ]
  let killed = 0
  const kill = async (milliseconds: number) => {
    for (const end = Date.now() + milliseconds; Date.now() < end; killed += 1) {
      await pause(Math.min(milliseconds, 1000 + random.below(3000)))
      await random.pick(kills)?.()
    }
  }
  await kill(options.seconds * 250)
  for (const { record } of readMappings(folder)) rewrite(`${record}.sql`, text => `-- Changed.\n${text}`)
  const appliedAgain = await apply()
  await kill(options.seconds * 250)
  await stopWriters()
  await commitPrepared(platform.sql)
  await work.changeAll(platform.sql, random)
  clientsStop.abort()
  await Promise.all(following)
  if (options.replicated) await caughtUp()
  await projected(pool)
  for (let time = 0; time < 2; time += 1) await Promise.all(clients.map(({ pass }) => pass()))

  const tenants = await sql<{ id: string }[]>`select id from gateway.tenant`
  const { secret } = await createTestToken(
    pool,
    tenants.map(({ id }) => Number(id)),
  )
  const wholeOf = createWholes(askThrough(instances, 'REST', secret))
  const outcomes = (await Promise.all(clients.map(client => client.outcomes(wholeOf)))).flat()
  const problems = await findRecordProblems(pool)
  const figures = { checks: 0, wrong: 0 }
  await compareFigures(pool, figures)
  const copies = await compareCopies()
  printReport({ counts, clients: outcomes, problems, figures }, options, [
    `adopt apply: ${applied}`,
    `adopt apply of a changed mapping: ${appliedAgain}`,
    options.replicated
      ? `the service, the publisher or the applier: killed ${killed} times; ${copies.count} copied tables, different: ${copies.different.length}`
      : `service: killed ${killed} times`,
  ])
  if (copies.different.length > 0) process.exitCode = 1
  if (wrongInClients(outcomes) > 0 || figures.wrong > 0 || problems.length > 0) process.exitCode = 1
}

/** Fails when a writer or a client does, which ends the test. */
async function watch(): Promise<void> {
  while (!clientsStop.signal.aborted) await Promise.race([Promise.all([writers.ended, ...following]), pause(200)])
}

try {
  await Promise.all([stress(), watch()])
} finally {
  for (const stop of [writers.stop, clientsStop]) stop.abort()
  await Promise.allSettled([writers.ended, ...following])
  await Promise.all([platform.sql, sql, pool].map(each => each.end({ timeout: 1 })))
  await cleanUp()
  for (const { stop } of new Set([own, platform])) await stop()
}
