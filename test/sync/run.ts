import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type postgres from '#postgres'
import { connect } from '../../src/db/connect.ts'
import type { CreatedToken } from '../../src/domain/token/lifecycle.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { until } from '../support/until.ts'
import { type Kind, kindOf, kinds } from './changes.ts'
import { createNaiveAsk, createSyncClient, follow, patient, type Resumption, resumptions } from './clients.ts'
import { watchFigures } from './figures.ts'
import { type List, lists, transports } from './lists.ts'
import {
  createTruths,
  type FollowedList,
  outcomesOfLists,
  outcomesOfNaiveRecipe,
  outcomesOfRecipe,
  type Truths,
  voucherList,
} from './outcome.ts'
import type { Publisher } from './publisher.ts'
import { createRandom } from './random.ts'
import { createNaiveRecipeClient, createRecipeClient, type RecipeResumption } from './recipe.ts'
import { type Address, type KnownIds, open, poolAddress, seedDatabase, seedPublisher } from './seed.ts'
import { createWriterCounts, sell, type WriterOptions, write } from './writers.ts'

/** The size of a run. Times are in seconds. */
export interface StressOptions {
  /**
   * The shortest time that the writers run: they go on until the controls have lost vouchers of each kind of writer.
   */
  seconds: number
  writers: number
  /** The number of `clientKinds` that run, from the first. */
  clients: number
  longest: number
  seed: number
  bulkRows: number
}

export type StressReport = Awaited<ReturnType<typeof stress>>

type Transport = keyof typeof transports

/** A client that resumes in one way, over one transport. */
type ClientKind =
  /** Keeps a copy of all that its token is authorised for, by the recipe. */
  | { recipe: 'root' | 'branch' | 'single tenants'; transport: Transport; resumption: RecipeResumption }
  /** Reads all lists of some tenants, each list by itself, without removals. */
  | { recipe?: undefined; transport: Transport; resumption: Resumption }

/** The clients; a run with fewer takes the first ones. */
export const clientKinds: ClientKind[] = [
  { recipe: 'root', transport: 'REST', resumption: 'first page' },
  { recipe: 'root', transport: 'export', resumption: 'last page' },
  { recipe: 'branch', transport: 'GraphQL', resumption: 'last page' },
  { recipe: 'single tenants', transport: 'GraphQL', resumption: 'first page' },
  { transport: 'REST', resumption: 'newest record' },
  { transport: 'GraphQL', resumption: 'first page' },
  { transport: 'REST', resumption: 'last page' },
  { recipe: 'root', transport: 'GraphQL', resumption: 'last page' },
  { transport: 'GraphQL', resumption: 'newest record' },
  { transport: 'REST', resumption: 'first page' },
  { transport: 'GraphQL', resumption: 'last page' },
]

interface Setting {
  address: Address
  app: FastifyInstance
  knownIds: KnownIds
  /** The tenants whose lists are read by themselves. */
  listed: number[]
  createToken(grants: TenantGrant[]): Promise<CreatedToken>
}

/** The longest time that writers go on until the controls have lost vouchers of all kinds, in seconds. */
const mostExtraSeconds = 240

/** Chunks so small that each export has many, with writers at work between them. */
const exportChunkSize = 40

/** Returns how a list is read over a transport; v1 has no removals. */
const askThrough = (app: FastifyInstance, transport: Transport, secret: string) => (list: List, tenant: number) =>
  patient(transports[list.path ? transport : 'GraphQL'](app, secret, list, tenant))

/** @returns the passes that a client repeats, each independently, and its outcomes */
async function createClient(kind: ClientKind, { app, knownIds, listed, createToken }: Setting) {
  const { transport, resumption } = kind
  if (!kind.recipe) {
    const { secret } = await createToken([whole(knownIds.root)])
    const ask = askThrough(app, transport, secret)
    const followed: FollowedList[] = lists
      .filter(({ path }) => path || transport === 'GraphQL')
      .flatMap(list =>
        (list.ofTenant ? listed : [knownIds.root]).map(tenant => {
          return { list, tenant, client: createSyncClient(ask(list, tenant), resumption) }
        }),
      )
    return {
      passes: followed.map(({ client }) => client.pass),
      outcomes: (truths: Truths) => outcomesOfLists(`lists, ${transport}, ${resumption}`, followed, truths),
    }
  }
  const single = [...listed, knownIds.branch, ...knownIds.shops.slice(0, 2), ...knownIds.tenants.slice(0, 5)]
  const grants = {
    root: [whole(knownIds.root)],
    branch: [whole(knownIds.branch)],
    'single tenants': single.map(tenantId => ({ tenantId, withDescendants: false })),
  }[kind.recipe]
  const token = await createToken(grants)
  const client = createRecipeClient(askThrough(app, transport, token.secret), kind.resumption)
  const name = `recipe, ${transport}, ${resumption}, ${kind.recipe}`
  return { passes: [client.round], outcomes: (truths: Truths) => outcomesOfRecipe(name, client, token.id, truths) }
}

/** Creates the clients that must miss records, each with its own connection. */
async function createControls({ address, app, knownIds, listed, createToken }: Setting) {
  const connections: postgres.Sql[] = []
  const lost = new Set<string>()
  const followed = listed.flatMap(tenant =>
    resumptions.map(resumption => {
      const { ask, sql } = createNaiveAsk(address, tenant)
      connections.push(sql)
      const client = createSyncClient(ask, resumption)
      const pass = async () => {
        await client.pass()
        // A pass that begins at the bound does not read these records again.
        const passed = await sql<{ id: string; mark: string }[]>`
          select id::text, coalesce(product_title, '') as mark from purchased_voucher where tenant_id = ${tenant}
          and naive_stamp > now() - interval '20 seconds' and naive_stamp < ${client.bound()}::text::timestamptz`
        for (const { id, mark } of passed) if (client.copy.get(id)?.mark !== mark) lost.add(mark)
      }
      return { list: voucherList, tenant, client, pass }
    }),
  )
  const lostByKind = () => {
    const count = (kind: Kind) => [...lost].filter(mark => kindOf(mark) === kind).length
    return Object.fromEntries(kinds.map(kind => [kind, count(kind)]))
  }
  const { secret } = await createToken([whole(knownIds.root)])
  const sql = open(address)
  connections.push(sql)
  const removals = createNaiveRecipeClient(sql, askThrough(app, 'REST', secret), listed)
  return {
    stamps: {
      passes: followed.map(({ pass }) => pass),
      outcomes: (truths: Truths) => outcomesOfLists('naive stamps', followed, truths),
      lostByKind,
    },
    removals: {
      passes: [removals.round],
      outcomes: (truths: Truths) => outcomesOfNaiveRecipe(removals, listed, truths),
      lost: removals.lost,
    },
    end: () => Promise.all(connections.map(connection => connection.end())),
  }
}

/**
 * Runs the stress test on a migrated database that nothing else uses. Needs `max_prepared_transactions`.
 *
 * @param app the service over that database, with a sufficient rate
 * @param publisher an empty one, to which the database is subscribed; the caller stops it
 * @returns the outcomes of the clients, of the control that stamps with `now()` and of the one that applies all removals
 */
export async function stress(address: Address, app: FastifyInstance, publisher: Publisher, options: StressOptions) {
  const { seed, longest, bulkRows } = options
  for (const each of bulkExports) each.chunkSize = exportChunkSize
  const knownIds = await seedDatabase(address)
  const subscribe = () => publisher.subscribe(address, { copyData: false, streaming: 'parallel', twoPhase: true })
  const published = await seedPublisher(publisher.address, knownIds.root, 20, subscribe)
  const listed = [...knownIds.owners, published.owners[0] ?? 0]
  const pool = connect(poolAddress(address), { max: 1, statementTimeoutMs: 60_000 })
  await publisher.caughtUp()

  const setting: Setting = { address, app, knownIds, listed, createToken: tenants => createTestToken(pool, tenants) }
  const clients = await Promise.all(clientKinds.slice(0, options.clients).map(kind => createClient(kind, setting)))
  const controls = await createControls(setting)
  const passes = [...clients, controls.stamps, controls.removals].flatMap(client => client.passes)

  const writersStop = new AbortController()
  const clientsStop = new AbortController()
  const counts = createWriterCounts()
  // A fifth of the writers write at the publisher.
  const atPublisher = Math.max(1, Math.round(options.writers / 5))
  const writing = Array.from({ length: options.writers }, (_, number) => {
    const random = createRandom(seed * 1000 + number)
    const writer: WriterOptions = { address, knownIds, random, longest, bulkRows, counts, stop: writersStop.signal }
    if (number === 0) return sell(writer)
    if (number > atPublisher) return write(writer)
    return write({ ...writer, address: publisher.address, knownIds: published, kind: 'replicated' })
  })
  const following = passes.map((pass, number) =>
    follow(pass, createRandom(seed * 1000 + 500 + number), clientsStop.signal),
  )
  const figures = watchFigures(address, writersStop.signal)
  const failed = Promise.all([...writing, ...following])
  const run = async () => {
    const end = Date.now() + options.seconds * 1000
    const isProven = () => controls.removals.lost.size > 0 && !Object.values(controls.stamps.lostByKind()).includes(0)
    while (Date.now() < end || (!isProven() && Date.now() < end + mostExtraSeconds * 1000)) {
      await Promise.race([pause(200), failed])
    }
    writersStop.abort()
    await Promise.all(writing)
  }
  // Stops them even when one of them fails: the others would keep the process running.
  await run().finally(() => {
    for (const stop of [writersStop, clientsStop]) stop.abort()
    return Promise.allSettled([...writing, ...following])
  })
  await failed

  const sql = open(address)
  const publisherSql = open(publisher.address)
  for (const server of [publisherSql, sql]) await commitPrepared(server)
  await publisher.caughtUp()
  await untilAllIsListed(sql)
  // Twice: at the second time nothing changes during a read, so no cached scope is out of date.
  for (let time = 0; time < 2; time += 1) {
    await Promise.all(passes.map(pass => pass()))
    await pause(1000)
  }
  const truths = createTruths(sql, knownIds.root)
  const report = {
    counts,
    clients: (await Promise.all(clients.map(client => client.outcomes(truths)))).flat(),
    control: await controls.stamps.outcomes(truths),
    removalsControl: await controls.removals.outcomes(truths),
    /** The number of changes of vouchers that the control of the stamps has missed, by the kind of their writer. */
    lost: controls.stamps.lostByKind(),
    /** The number of vouchers that the control of the removals has lost. */
    lostByRemovals: controls.removals.lost.size,
    figures: await figures.end(),
  }
  await Promise.all([sql.end(), publisherSql.end(), pool.end(), controls.end()])
  return report
}

/** Commits prepared transactions whose writers were stopped before `commit prepared`. */
async function commitPrepared(sql: postgres.Sql): Promise<void> {
  const left = await sql<{ gid: string }[]>`
    select gid from pg_prepared_xacts where database = current_database() and gid like 'stress%'`
  for (const { gid } of left) await sql.unsafe(`commit prepared '${gid}'`)
}

/**
 * Waits until the service has stamped what the subscription changed, and the watermark has passed all stamps: the
 * stamps of a bulk load can lie ahead.
 *
 * @throws Error after a minute
 */
async function untilAllIsListed(sql: postgres.Sql): Promise<void> {
  const readState = () => sql<{ listed: boolean }[]>`
    select gateway.watermark() > greatest((select max(updated_at) from tenant), (select max(updated_at) from product),
      (select max(updated_at) from purchased_voucher), (select max(updated_at) from customer),
      (select max(updated_at) from gateway.removal))
      and not exists (select from gateway.stamp_queue) as listed`
  await until('pages list all rows that the writers wrote', async () => (await readState())[0]?.listed, 60_000)
}
