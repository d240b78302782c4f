/** The stress test of an adoption as a command: `npm run stress:adopt -- --seconds 60`. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { readMappings } from '../../src/db/mappings.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { cleanUp } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { startPackaged } from '../support/packaged-postgres.ts'
import { run, start } from '../support/process.ts'
import { projected } from '../support/projected.ts'
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
  without?: string
}

const options = new Command('stress')
  .description(
    'Adopts a platform of fifteen tables beside its writers, kills `adopt apply` and the service at random, and checks that ' +
      'clients that resume end with exactly what the service holds, and records with what their sources say. Exits with 1 when ' +
      'they do not.',
  )
  .option('--seconds <seconds>', 'how long the writers run after the first fill', Number, 60)
  .option('--cards <count>', 'rows of the largest table before it', Number, 50_000)
  .option('--writers <count>', 'how many writers', Number, 8)
  .option('--longest <seconds>', 'the longest transaction', Number, 3)
  .option('--kills <count>', 'how often each of both `adopt apply` is killed', Number, 4)
  .option('--seed <number>', 'seed of the random numbers', Number, Date.now() % 1_000_000)
  .option('--packaged', 'use the PostgreSQL server of the system instead of the embedded one', false)
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

const settings = { max_connections: '100', max_prepared_transactions: '50' }
const { stop: stopServer, ...address } = await (options.packaged ? startPackaged(settings) : startServer(settings))
const { host, port, user, database } = address
const environment = {
  DATABASE_URL: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
  ...{ RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000', LOG_LEVEL: 'fatal' },
}
const sql = open(address)
const pool = connect(poolAddress(address), { max: 2, statementTimeoutMs: 60_000, role: serviceRole })

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

const known = await seedVenues(sql, readFileSync(`${venues}.tables.sql`, 'utf8'), options.cards)
const work = createVenuesWork(known, 1000)
const counts = createWriterCounts()
const [writersStop, clientsStop] = [new AbortController(), new AbortController()]
const writing = Array.from({ length: options.writers }, (_, number) => {
  const random = createRandom(options.seed * 1000 + number)
  return write({ address, work, random, longest: options.longest, counts, stop: writersStop.signal })
})
/** The writers and the clients. */
const running: Promise<unknown>[] = [...writing]

async function stress(): Promise<void> {
  const checked = await run(['adopt', 'check', folder], environment)
  if (checked.code !== 0) throw new Error(`adopt check: ${checked.stdout}${checked.stderr}`)
  if (options.without) rewrite(options.without, rule => `select * from (${rule.replace(/;\s*$/, '')}) rule where false`)
  const applied = await apply()
  const instances = await Promise.all([startInstance(environment), startInstance(environment)])
  const clients = await createClients(instances)
  running.push(
    ...clients.map(({ pass }, number) =>
      follow(pass, createRandom(options.seed * 1000 + 500 + number), clientsStop.signal),
    ),
  )
  let killed = 0
  const kill = async (milliseconds: number) => {
    for (const end = Date.now() + milliseconds; Date.now() < end; killed += 1) {
      await pause(Math.min(milliseconds, 1000 + random.below(3000)))
      await random.pick(instances)?.kill()
    }
  }
  await kill(options.seconds * 250)
  for (const { record } of readMappings(folder)) rewrite(`${record}.sql`, text => `-- Changed.\n${text}`)
  const appliedAgain = await apply()
  await kill(options.seconds * 250)
  writersStop.abort()
  await Promise.all(writing)
  await commitPrepared(sql)
  await work.changeAll(sql, random)
  clientsStop.abort()
  await Promise.all(running)
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
  printReport({ counts, clients: outcomes, problems, figures }, options, [
    `adopt apply: ${applied}`,
    `adopt apply of a changed mapping: ${appliedAgain}`,
    `service: killed ${killed} times`,
  ])
  if (wrongInClients(outcomes) > 0 || figures.wrong > 0 || problems.length > 0) process.exitCode = 1
}

/** Fails when a writer or a client does, which ends the test. */
async function watch(): Promise<void> {
  while (!clientsStop.signal.aborted) await Promise.race([Promise.all(running), pause(200)])
}

try {
  await Promise.all([stress(), watch()])
} finally {
  for (const stop of [writersStop, clientsStop]) stop.abort()
  await Promise.allSettled(running)
  await Promise.all([sql, pool].map(each => each.end({ timeout: 1 })))
  await cleanUp()
  await stopServer()
}
