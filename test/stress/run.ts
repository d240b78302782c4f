/**
 * Shared by the stress runs for every kind of source: clients that copy what writers change, and the comparison of the
 * copies at the end.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import type { Pool } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { createTestToken } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
import { follow } from '../sync/clients.ts'
import { type ClientKind, clientKinds, createFollower, createPageReader } from '../sync/followers.ts'
import type { Instance } from '../sync/lists.ts'
import { createWholes } from '../sync/outcome.ts'
import { createRandom } from '../sync/random.ts'
import type { WriterCounts } from '../sync/writers.ts'
import { startEventClients } from './events.ts'

/** The options of a run. Times are in seconds. */
export interface StressOptions {
  sources: 'plain' | 'adopted' | 'replicated'
  /** The minimum time that the writers run. */
  seconds: number
  writers: number
  /** The number of clients, which are of the first `clientKinds`. */
  clients: number
  /** The number of clients that read only the lists that events name. */
  events: number
  longest: number
  seed: number
  bulkRows: number
  instances: number
  packaged: boolean
  pgbouncer: boolean
  standbys: number
  pgpool: boolean
  cards: number
  kills: number
  without?: string
}

/** Sources with writers, and the instances of a service that reads the sources. */
export interface Sources {
  /** The database of the gateway. */
  sql: postgres.Sql
  /** A pool with the role of the service. */
  pool: Pool
  instances: readonly Instance[]
  grants: Record<ClientKind['scope'], Parameters<typeof createTestToken>[1]>
  counts: WriterCounts
  passes?: (() => Promise<void>)[]
  /** Runs the writers and causes faults. @param stop aborted when a client has failed */
  disturb: (stop: AbortSignal, figures: FigureChecks) => Promise<unknown>
  /** Ends the transactions of the writers, and waits until all their changes are in the database of the gateway. */
  settle: () => Promise<unknown>
  /** Returns lines of the report, and the exit code of a run whose clients, records and figures are right. */
  conclude: () => Promise<{ lines: string[]; exitCode: number }>
}

export interface FigureChecks {
  checks: number
  wrong: number
}

/** Compares the figures with the records, and adds the differences to the counts in `found`. */
export async function compareFigures(sql: Pool, found: FigureChecks): Promise<void> {
  const { asOf, differences } = await checkFigures(sql)
  if (asOf !== null) found.checks += 1
  for (const { rows } of differences) found.wrong += rows
}

/** Commits prepared transactions whose writers were stopped before `commit prepared`. */
export async function commitPrepared(sql: postgres.Sql): Promise<void> {
  const left = await sql<{ gid: string }[]>`
    select gid from pg_prepared_xacts where database = current_database() and gid like 'stress%'`
  for (const { gid } of left) await sql.unsafe(`commit prepared '${gid}'`)
}

/** Waits for all works. The first work that ends aborts the others. @throws the error of the first work that failed */
export async function runUntilFirstEnds(stop: AbortController, works: readonly Promise<unknown>[]): Promise<void> {
  const ended = works.map(work => work.finally(() => stop.abort()))
  for (const each of await Promise.allSettled(ended)) if (each.status === 'rejected') throw each.reason
}

const pairs = (numbers: object) =>
  Object.entries(numbers)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')

/** Runs the stress test, and prints its report. @returns the exit code of the command */
export async function run(sources: Sources, options: StressOptions): Promise<number> {
  const { sql, pool, instances, grants, passes: others = [] } = sources
  const clients = await Promise.all(
    clientKinds
      .slice(0, options.clients)
      .map(async kind => createFollower(kind, instances, (await createTestToken(pool, grants[kind.scope])).secret)),
  )
  const random = createRandom(options.seed * 1000 + 400)
  const events = options.events > 0 ? await startEventClients(pool, instances, grants, options.events, random) : null
  const passes = [...clients.map(({ pass }) => pass), ...others]
  const figures = { checks: 0, wrong: 0 }
  const stop = new AbortController()
  const following = passes.map((pass, at) => follow(pass, createRandom(options.seed * 1000 + 500 + at), stop.signal))
  await runUntilFirstEnds(stop, [...following, sources.disturb(stop.signal, figures)])

  await sources.settle()
  await projected(pool)
  await compareFigures(pool, figures)
  // All clients run two passes. During the second pass nothing changes, so no cached scope is outdated.
  for (let time = 0; time < 2; time += 1) {
    await Promise.all(passes.map(pass => pass()))
    await pause(1000)
  }
  const tenants = await sql<{ id: string }[]>`select id from gateway.tenant`
  const ids = tenants.map(({ id }) => Number(id))
  const wholeOf = createWholes(createPageReader(instances, 'REST', (await createTestToken(pool, ids)).secret))
  const ofClients = (await Promise.all(clients.map(client => client.outcomes(wholeOf)))).flat()
  const ofEvents = await events?.conclude(wholeOf)
  const outcomes = [...ofClients, ...(ofEvents?.outcomes ?? [])]
  const problems = await findRecordProblems(pool)
  const { lines, exitCode } = await sources.conclude()

  console.log(`${pairs(options)}\n${pairs(sources.counts)}`)
  console.table(outcomes.map(({ examples, ...outcome }) => outcome))
  const total = (of: 'missing' | 'tooMuch') => outcomes.reduce((sum, outcome) => sum + outcome[of], 0)
  const [missing, tooMuch] = [total('missing'), total('tooMuch')]
  console.log(
    [
      `clients: ${missing} missing, ${tooMuch} too much`,
      ...lines,
      ...(ofEvents ? [ofEvents.line] : []),
      `records that are not as their sources say: ${problems.length}`,
      ...problems.map(
        ({ record, reason, keys, firstKeys }) => `  ${record}: ${keys} keys, such as ${firstKeys}: ${reason}`,
      ),
      `figures: ${figures.checks} times compared with the records, ${figures.wrong} rows wrong`,
      ...outcomes.flatMap(({ client, list, examples }) => examples.map(example => `  ${client}, ${list}: ${example}`)),
    ].join('\n'),
  )
  return missing + tooMuch + (ofEvents?.lost ?? 0) + figures.wrong + problems.length > 0 ? 1 : exitCode
}
