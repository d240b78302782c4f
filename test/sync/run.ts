import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type postgres from '#postgres'
import { connect } from '../../src/db/connect.ts'
import { type CreatedToken, createToken } from '../../src/domain/token/lifecycle.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { createNaiveAsk, createSyncClient, follow, patient, type Resumption, resumptions } from './clients.ts'
import { type FigureChecks, watchFigures } from './figures.ts'
import { type BulkLag, type Lag, lagBesideBulk, lagBesideLongWriter, watchLag } from './lag.ts'
import { type List, lists, transports } from './lists.ts'
import {
  createTruths,
  type FollowedList,
  type Outcome,
  outcomesOfLists,
  outcomesOfNaiveRecipe,
  outcomesOfRecipe,
  type Truths,
  voucherList,
} from './outcome.ts'
import type { Publisher } from './publisher.ts'
import { createRandom } from './random.ts'
import { createNaiveRecipeClient, createRecipeClient, type RecipeResumption } from './recipe.ts'
import { type Address, type KnownIds, open, seedDatabase, seedPublisher } from './seed.ts'
import { createWriterCounts, sell, type WriterCounts, type WriterOptions, write } from './writers.ts'

/** The size of a run. Times are in seconds. */
export interface StressOptions {
  seconds: number
  writers: number
  /** The number of `clientKinds` that run, from the first. */
  clients: number
  longest: number
  seed: number
  bulkRows: number
  /** The time that a writer holds its transaction open while the lag is measured; 0 for no such measurement. */
  hold: number
  /** The number of rows that one transaction writes while the lag is measured; 0 for no such measurement. */
  bulkBeside: number
}

/** The result of a run. */
export interface StressReport {
  counts: WriterCounts
  clients: Outcome[]
  /** The outcome of the control that stamps with `now()`. */
  control: Outcome[]
  /** The outcome of the control that applies all removals. */
  removalsControl: Outcome[]
  lag: Lag
  lagBesideLong: Lag | null
  lagBesideBulk: BulkLag | null
  figures: FigureChecks
}

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

/** A running client. */
interface Client {
  /** The passes that it repeats, each independently. */
  passes: (() => Promise<void>)[]
  outcomes(truths: Truths): Promise<Outcome[]>
}

/** The parts that clients need. */
interface Setting {
  address: Address
  app: FastifyInstance
  knownIds: KnownIds
  /** The tenants whose lists are read by themselves. */
  listed: number[]
  createToken(grants: TenantGrant[]): Promise<CreatedToken>
}

/** Chunks so small that each export has many, with writers at work between them. */
const exportChunkSize = 40

/** Returns how a list is read over a transport; v1 has no removals. */
const askThrough = (app: FastifyInstance, transport: Transport, secret: string) => (list: List, tenant: number) =>
  patient(transports[list.path ? transport : 'GraphQL'](app, secret, list, tenant))

async function createClient(kind: ClientKind, { app, knownIds, listed, createToken }: Setting): Promise<Client> {
  const { transport, resumption } = kind
  const withDescendants = (tenantId: number) => [{ tenantId, withDescendants: true }]
  if (!kind.recipe) {
    const { secret } = await createToken(withDescendants(knownIds.root))
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
      outcomes: truths => outcomesOfLists(`lists, ${transport}, ${resumption}`, followed, truths),
    }
  }
  const single = [...listed, knownIds.branch, ...knownIds.shops.slice(0, 2), ...knownIds.tenants.slice(0, 5)]
  const grants = {
    root: withDescendants(knownIds.root),
    branch: withDescendants(knownIds.branch),
    'single tenants': single.map(tenantId => ({ tenantId, withDescendants: false })),
  }[kind.recipe]
  const token = await createToken(grants)
  const client = createRecipeClient(askThrough(app, transport, token.secret), kind.resumption)
  const name = `recipe, ${transport}, ${resumption}, ${kind.recipe}`
  return { passes: [client.round], outcomes: truths => outcomesOfRecipe(name, client, token.id, truths) }
}

/** Creates the clients that must miss records, each with its own connection. */
async function createControls({ address, app, knownIds, listed, createToken }: Setting) {
  const connections: postgres.Sql[] = []
  const followed = listed.flatMap(tenant =>
    resumptions.map(resumption => {
      const { ask, sql } = createNaiveAsk(address, tenant)
      connections.push(sql)
      return { list: voucherList, tenant, client: createSyncClient(ask, resumption) }
    }),
  )
  const { secret } = await createToken([{ tenantId: knownIds.root, withDescendants: true }])
  const sql = open(address)
  connections.push(sql)
  const removals = createNaiveRecipeClient(sql, askThrough(app, 'REST', secret), listed)
  return {
    stamps: {
      passes: followed.map(({ client }) => client.pass),
      outcomes: (truths: Truths) => outcomesOfLists('naive stamps', followed, truths),
    },
    removals: {
      passes: [removals.round],
      outcomes: (truths: Truths) => outcomesOfNaiveRecipe(removals, listed, truths),
    },
    end: () => Promise.all(connections.map(connection => connection.end())),
  }
}

/**
 * Runs the stress test on a migrated database that nothing else uses. Needs `max_prepared_transactions`.
 *
 * @param app the service over that database, with a sufficient rate
 * @param publisher an empty one, to which the database is subscribed; the caller stops it
 */
export async function stress(
  address: Address,
  app: FastifyInstance,
  publisher: Publisher,
  options: StressOptions,
): Promise<StressReport> {
  const { seed, longest, bulkRows } = options
  for (const each of bulkExports) each.chunkSize = exportChunkSize
  const knownIds = await seedDatabase(address)
  const subscribe = () => publisher.subscribe(address, { copyData: false, streaming: 'parallel', twoPhase: true })
  const published = await seedPublisher(publisher.address, knownIds.root, 20, subscribe)
  const listed = [...knownIds.owners, published.owners[0] ?? 0]
  const pool = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  await publisher.caughtUp()

  const setting: Setting = {
    address,
    app,
    knownIds,
    listed,
    createToken: tenants =>
      createToken(
        pool,
        { name: 'test', address: null },
        { name: 'stress', contact: null, rateLimit: null, permissions: [...permissionNames], tenants, expiresAt: null },
      ),
  }
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
  const watching = watchLag(address, writersStop.signal)
  const figures = watchFigures(address, writersStop.signal)
  const failed = Promise.all([...writing, ...following])
  const run = async () => {
    await Promise.race([pause(options.seconds * 1000), failed])
    writersStop.abort()
    await Promise.all(writing)
    return {
      lag: await watching,
      lagBesideLong: options.hold > 0 ? await lagBesideLongWriter(address, knownIds, options.hold) : null,
      lagBesideBulk: options.bulkBeside > 0 ? await watchBulk(setting, options.bulkBeside) : null,
    }
  }
  // Also when one of them fails: the others would keep the process running.
  const lags = await run().finally(() => {
    for (const stop of [writersStop, clientsStop]) stop.abort()
    return Promise.allSettled([...writing, ...following, watching])
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
    ...lags,
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
 * Waits until the service has stamped what the subscription changed, and the watermark has passed all stamps: those of a
 * bulk load can lie ahead.
 *
 * @throws Error after a minute
 */
async function untilAllIsListed(sql: postgres.Sql): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await pause(20)) {
    const [row] = await sql<{ listed: boolean }[]>`
      select gateway.watermark() > greatest((select max(updated_at) from tenant), (select max(updated_at) from product),
        (select max(updated_at) from purchased_voucher), (select max(updated_at) from customer),
        (select max(updated_at) from gateway.removal))
        and not exists (select from gateway.stamp_queue) as listed`
    if (row?.listed) return
  }
  throw new Error('The writers are done, but a page cannot list all rows that they wrote.')
}

/** Measures the lag beside a bulk load for a tenant that no other client reads. */
async function watchBulk({ address, app, knownIds, createToken }: Setting, rows: number): Promise<BulkLag> {
  const sql = open(address)
  const [made] = await sql`insert into tenant (name) values ('bulk') returning id`
  const tenant = Number(made?.id)
  await sql.end()
  const token = await createToken([
    { tenantId: tenant, withDescendants: false },
    { tenantId: knownIds.root, withDescendants: true },
  ])
  const ask = askThrough(app, 'REST', token.secret)
  const pages = { bulk: ask(voucherList, tenant), other: ask(voucherList, knownIds.owners[0] ?? 0) }
  return lagBesideBulk(address, knownIds, { tenant, rows, ...pages })
}
