/**
 * Adopts a platform of fifteen tables, while `adopt apply` and the service are killed at random, and the PostgreSQL
 * servers too if the platform has a separate server.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type postgres from '#postgres'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { copyVenues, venuesTables } from '../adopt/venues.ts'
import { createVenuesWork, seedVenues } from '../adopt/venues.work.ts'
import { whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { addressUrl, connect, serviceRole } from '../support/connect.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { startPackaged } from '../support/packaged-postgres.ts'
import { run, start } from '../support/process.ts'
import { until } from '../support/until.ts'
import { createRandom } from '../sync/random.ts'
import { open, poolAddress } from '../sync/seed.ts'
import { createWriterCounts, write } from '../sync/writers.ts'
import { certificate, webhookSettings } from './events.ts'
import { commitPrepared, type Sources, type StressOptions } from './run.ts'

/** Starts the service in a separate process, which `kill` replaces on the same port. */
async function startInstance(environment: NodeJS.ProcessEnv) {
  const port = String(await freePort())
  const serve = () => start(['serve'], { ...environment, PORT: port })
  let service = serve()
  return {
    origin: `http://127.0.0.1:${port}`,
    fetch,
    async kill() {
      service.child.kill('SIGKILL')
      await service.ended
      service = serve()
    },
  }
}

/** Starts a PostgreSQL server that loses no commit when it crashes. */
async function startPostgres({ packaged }: StressOptions) {
  const settings = { max_connections: '100', max_prepared_transactions: '50', wal_level: 'logical' }
  const quick = { fsync: 'off', synchronous_commit: 'on', wal_retrieve_retry_interval: '200ms' }
  const { stop, ...address } = await (packaged ? startPackaged : startServer)({ ...settings, ...quick })
  afterFile(stop)
  const sql = open(address)
  afterFile(() => sql.end({ timeout: 1 }))
  return { address, sql }
}

/**
 * Kills a process of a server with SIGKILL, so that the server ends all its other processes and recovers. @param kind a
 * pattern of `backend_type`
 */
async function crash(sql: postgres.Sql, kind: string): Promise<void> {
  const [found] = await sql<{ pid: number }[]>`select pid from pg_stat_activity where backend_type like ${kind} limit 1`
  if (!found) return
  // The server ends this statement once it has noticed the crash. Until then the server accepts connections.
  const noticed = sql`select pg_sleep(60)`.catch(() => {})
  process.kill(found.pid, 'SIGKILL')
  await noticed
  await until('the server answers', () => sql`select 1`.catch(() => null), 60_000)
}

/** Starts a platform with writers, and adopts the platform while the writers write. */
export async function startAdopted(options: StressOptions): Promise<Sources> {
  const { seed, longest, seconds, bulkRows } = options
  const isReplicated = options.sources === 'replicated'
  const random = createRandom(seed)
  const folder = copyVenues(() => {})
  const rewrite = (file: string, change: (text: string) => string) =>
    writeFileSync(join(folder, file), change(readFileSync(join(folder, file), 'utf8')))

  const own = await startPostgres(options)
  const platform = isReplicated ? await startPostgres(options) : own
  const { sql } = own
  const environment = {
    DATABASE_URL: addressUrl(own.address),
    ...(isReplicated && { PLATFORM_URL: addressUrl(platform.address) }),
    ...{ RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000', LOG_LEVEL: 'fatal' },
    ...{ ...webhookSettings, NODE_EXTRA_CA_CERTS: certificate },
  }
  const pool = connect(poolAddress(own.address), { max: 2, statementTimeoutMs: 60_000, role: serviceRole })
  afterFile(() => pool.end({ timeout: 1 }))

  const known = await seedVenues(platform.sql, venuesTables, options.cards)
  const work = createVenuesWork(known, bulkRows)
  const counts = createWriterCounts()

  /** Starts the writers. @returns a function that stops the writers, and rejects when one has failed */
  function startWriters(): () => Promise<unknown> {
    const stop = new AbortController()
    const writer = { address: platform.address, isPublisher: isReplicated, work, longest, counts, stop: stop.signal }
    const writing = Promise.all(
      Array.from({ length: options.writers }, (_, number) =>
        write({ ...writer, random: createRandom(seed * 1000 + number) }),
      ),
    )
    writing.catch(() => {})
    return () => {
      stop.abort()
      return writing
    }
  }
  let stopWriters = startWriters()
  afterFile(() => stopWriters())

  /**
   * Kills the publisher between transactions, because the driver fails when a connection ends within a transaction
   * (tools/driver/README.md).
   */
  async function crashPlatform(kind: string): Promise<void> {
    await stopWriters()
    await crash(platform.sql, kind)
    stopWriters = startWriters()
  }

  async function adopt(command: 'check' | 'apply'): Promise<string> {
    const { code, stdout, stderr } = await run(['adopt', command, folder], environment, { timeout: 600_000 })
    if (code !== 0) throw new Error(`adopt ${command}: ${stdout}${stderr}`)
    return stdout.trim()
  }

  /**
   * Runs `adopt apply`, and kills it several times, every second time while it writes records. @returns a line of the
   * report
   */
  async function apply(): Promise<string> {
    const hasSteps = () => sql`select from gateway.step limit 1`.then(({ count }) => count > 0).catch(() => false)
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
    const said = await adopt('apply')
    return `killed ${killed} times, then ${Math.round(performance.now() - began)} ms: ${said}`
  }

  /**
   * Returns the names of the copied tables that differ from the tables of the platform, and the number of copied
   * tables.
   */
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

  await adopt('check')
  if (options.without) rewrite(options.without, rule => `select * from (${rule.replace(/;\s*$/, '')}) rule where false`)
  const applied = [await apply()]
  const instances = await Promise.all(Array.from({ length: options.instances }, () => startInstance(environment)))
  const tenants = await sql<{ path: string; id: string }[]>`
    select path, identity.id from gateway.identity join shop.venue on venue.id::text = key where kind = 'tenant'`
  const idOf = (path: string) => Number(tenants.find(tenant => tenant.path === path)?.id)
  const kills = [
    ...instances.map(({ kill }) => kill),
    ...(isReplicated
      ? [
          () => crashPlatform('walsender'),
          () => crashPlatform('client backend'),
          () => crash(sql, 'logical replication %worker'),
        ]
      : []),
  ]
  let killed = 0

  /** Kills processes at random for half of the run. */
  async function kill(stop: AbortSignal): Promise<void> {
    for (const end = Date.now() + seconds * 500; Date.now() < end && !stop.aborted; killed += 1) {
      await pause(Math.min(seconds * 500, 1000 + random.below(3000)))
      await random.pick(kills)?.()
    }
  }

  return {
    ...{ sql, pool, instances, counts },
    grants: {
      root: [whole(idOf('group'))],
      branch: [whole(idOf('group/branch'))],
      'single tenants': ['group/a', 'group/b', 'elsewhere'].map(idOf),
    },

    async disturb(stop) {
      await kill(stop)
      for (const { record } of readMappings(folder)) rewrite(`${record}.sql`, text => `-- Changed.\n${text}`)
      applied.push(await apply())
      await kill(stop)
      await stopWriters()
    },

    async settle() {
      await commitPrepared(platform.sql)
      await work.changeAll(platform.sql, random)
      if (!isReplicated) return
      const [now] = await platform.sql<{ position: string }[]>`select pg_current_wal_flush_lsn()::text as position`
      const isApplied = () => platform.sql`
        select from pg_replication_slots where active and confirmed_flush_lsn >= ${now?.position ?? ''}::text::pg_lsn`
      await until('the changes are applied', async () => (await isApplied()).count > 0, 120_000)
    },

    async conclude() {
      const { different, count } = await compareCopies()
      return {
        lines: [
          ...applied.map((said, time) => `adopt apply${time > 0 ? ' of a changed mapping' : ''}: ${said}`),
          `the service${isReplicated ? ', the publisher or the applier' : ''}: killed ${killed} times`,
          `copied tables: ${count}, different: ${different.length}`,
        ],
        exitCode: different.length > 0 ? 1 : 0,
      }
    },
  }
}
