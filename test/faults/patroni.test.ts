/**
 * Patroni changes the primary of the database three times, while the clients of the stress test copy what its writers
 * change. No acknowledged commit is lost. No record is missing from a copy whose client makes a full pass when the
 * service asks for one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { VoucherGatewayError } from '../../packages/client/src/index.ts'
import { readConfig } from '../../src/config/config.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { buildServer } from '../../src/server.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { follow, isTemporary } from '../sync/clients.ts'
import { type ClientKind, clientKinds, createFollower, createPageReader } from '../sync/followers.ts'
import { instanceOf } from '../sync/lists.ts'
import { createMark } from '../sync/mark.ts'
import { createWholes } from '../sync/outcome.ts'
import { createRandom, type Random } from '../sync/random.ts'
import { open, seedDatabase } from '../sync/seed.ts'
import { recoveryLimit } from './support/form.ts'
import { startCluster } from './support/patroni.ts'

const cluster = await startCluster()
const address = { host: '127.0.0.1', port: cluster.port, user: 'postgres', database: 'gateway' }
const admin = open({ ...address, database: 'postgres' })
await admin`create database gateway`
await admin.end()
const owner = connect(address, { max: 2, statementTimeoutMs: 0 })
await migrate(owner)
const knownIds = await seedDatabase(address, 30)
const pool = connect(address, { max: 10, statementTimeoutMs: 10_000, role: serviceRole })
const config = readConfig({ LOG_LEVEL: 'silent', RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' })
const apps = await Promise.all([0, 1].map(() => buildServer({ config, pool })))
const instances = apps.map(instanceOf)
await projected(owner)
afterFile(async () => {
  await Promise.all(apps.map(app => app.close()))
  await Promise.all([owner, pool].map(each => each.end({ timeout: 1 })))
})

/** Error codes of a connection while no server is the primary, and of a connection to a former primary. */
const outages = /^(ECONN\w+|CONNECT_TIMEOUT|CONNECTION_\w+|57P0\d|08\w{3}|25006|40001|DATABASE_\w+)$/
const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error))

async function again(work: () => Promise<unknown>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      await work()
    } catch (error) {
      if (!outages.test(codeOf(error))) throw error
      await pause(100)
    }
  }
}

/** Creates a client of the stress test, which reads everything again when the service asks for a full pass. */
function createClient(kind: ClientKind, secret: string) {
  const start = () => createFollower(kind, instances, secret)
  let follower = start()
  const client = {
    fullPasses: 0,
    outcomes: (...args: Parameters<typeof follower.outcomes>) => follower.outcomes(...args),
    async pass() {
      try {
        await follower.pass()
      } catch (error) {
        if (error instanceof VoucherGatewayError && error.needsFullPass) {
          follower = start()
          client.fullPasses += 1
        } else if (!isTemporary(error)) throw error
      }
    },
  }
  return client
}

/**
 * Writes all kinds of records, one statement per transaction: the driver fails when a connection ends within `begin`
 * (tools/driver/README.md).
 *
 * @returns the references of new vouchers whose commit was acknowledged
 */
async function write(random: Random, stop: AbortSignal): Promise<string[]> {
  const sql = open(address, { connect_timeout: 2 })
  const sold: string[] = []
  const one = (ids: readonly number[]) => random.pick(ids) ?? 0
  const changes = [
    async (mark: string) => {
      await sql`insert into purchased_voucher (tenant_id, reference) values (${one(knownIds.owners)}, ${mark})`
      sold.push(mark)
    },
    (mark: string) => sql`update purchased_voucher set product_title = ${mark} where id = ${one(knownIds.vouchers)}`,
    (mark: string) => sql`update product set title = ${mark} where id = ${one(knownIds.products)}`,
    (mark: string) => sql`
      insert into customer (tenant_id, surname, marketing_opted) values (${one(knownIds.owners)}, ${mark}, true)`,
    () => sql`delete from customer where id = ${one(knownIds.customers)}`,
    (mark: string) => sql`update tenant set name = ${mark} where id = ${one(knownIds.shops)}`,
  ]
  await again(async () => {
    await random.pick(changes)?.(createMark())
    await pause(random.below(40))
  }, stop)
  await sql.end({ timeout: 1 })
  return sold
}

/**
 * Requests the tenants from both instances again and again, until `stop` is aborted.
 *
 * @returns the time at which each request was sent, because a refusal is delayed for up to four seconds, and the status
 * of its answer
 */
async function probe(secret: string, stop: AbortSignal) {
  const answers: { sent: number; answered: number; status: number }[] = []
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  while (!stop.aborted) {
    for (const app of apps) {
      const sent = performance.now()
      const { statusCode } = await app.inject({ url: '/api/external/v1/tenants', headers })
      answers.push({ sent, answered: performance.now(), status: statusCode })
    }
    await pause(20)
  }
  return answers
}

test('three failovers under load lose no record, and the service recovers', { timeout: 900_000 }, async () => {
  const { secret } = await createTestToken(owner, [whole(knownIds.root)], { rateLimit: 1_000_000 })
  // Clients that read only v1 cannot detect a failover (docs/maintaining.md).
  const clients = clientKinds
    .filter(({ transport, scope }) => transport !== 'v1 alone' && scope === 'root')
    .map(kind => createClient(kind, secret))
  const stop = new AbortController()
  const writing = Array.from({ length: 4 }, (_, number) => write(createRandom(number), stop.signal))
  const probing = probe(secret, stop.signal)
  const following = clients.map((client, number) => follow(client.pass, createRandom(100 + number), stop.signal))
  const running = [...writing, ...following, probing]
  const failed = Promise.all(running)
  failed.catch(() => stop.abort())

  const failovers: { fault: string; began: number; promoted: number }[] = []
  try {
    for (const fault of ['crash', 'switchOver', 'freeze'] as const) {
      const { primary, standby } = await cluster.whole()
      await Promise.race([pause(5_000), failed])
      const began = performance.now()
      await primary[fault]()
      await until(`Patroni promotes the standby after ${fault}`, standby.isPrimary, 90_000)
      failovers.push({ fault, began, promoted: performance.now() })
      await Promise.race([pause(recoveryLimit + 3_000), failed])
      if (fault === 'crash') await primary.restart()
      if (fault === 'freeze') primary.thaw()
    }
    await cluster.whole()
    await pause(2_000)
  } finally {
    stop.abort()
    await Promise.allSettled(running)
  }
  await failed

  const answers = await probing
  const times = failovers.map(({ fault, began, promoted }, index) => {
    const until = failovers[index + 1]?.began ?? Number.POSITIVE_INFINITY
    const refused = answers.filter(({ sent, answered, status }) => sent > began && answered < until && status !== 200)
    const back = refused.at(-1)?.sent ?? began
    return { fault, patroni: promoted - began, service: back - began, behind: Math.max(0, back - promoted) }
  })
  console.table(times)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
  for (const { fault, behind } of times) expect(behind, fault).toBeLessThan(recoveryLimit)

  const sql = open(address)
  const sold = (await Promise.all(writing)).flat()
  const kept = await sql<
    { reference: string }[]
  >`select reference from purchased_voucher where reference = any(${sold})`
  expect(kept.length).toBe(sold.length)
  await projected(owner)
  expect(await findRecordProblems(owner)).toEqual([])
  // The first of three passes may be a full pass; during the last pass, no record changes.
  for (let time = 0; time < 3; time++) {
    await Promise.all(clients.map(client => client.pass()))
    await pause(1_000)
  }
  const wholeOf = createWholes(createPageReader(instances, 'REST', secret))
  const outcomes = (await Promise.all(clients.map(client => client.outcomes(wholeOf)))).flat()
  console.table(outcomes.map(({ examples, ...outcome }) => outcome))
  console.log(`sold ${sold.length}, full passes: ${clients.map(({ fullPasses }) => fullPasses)}`)
  expect(outcomes.flatMap(({ examples }) => examples)).toEqual([])
  for (const { fullPasses } of clients) expect(fullPasses).toBeGreaterThanOrEqual(3)
  await sql.end()
})
