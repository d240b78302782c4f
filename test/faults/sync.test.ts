/**
 * The command `sync` is killed at random while the source changes, and each new run continues where the previous run
 * was killed.
 */
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type postgres from '#postgres'
import { createTestToken, whole } from '../support/builders.ts'
import { everyPlace, type Place, readService } from '../support/copies.ts'
import { serve, start } from '../support/process.ts'
import { createRandom } from '../sync/random.ts'
import { isShort } from './support/form.ts'
import { repeat } from './support/repeat.ts'
import { startFaultServer } from './support/start.ts'
import { createMigrated } from './support/world.ts'

/** The number of kills per kind of store. */
const kills = isShort ? 10 : 50
/** The maximum time from the first event to the kill, in milliseconds. */
const longestLife = 700

/** After this number of runs, a run has to read the source again from the beginning. */
const killsPerFullPass = 12

const timeout = 600_000

const server = await startFaultServer()

/**
 * Creates a database with a chain and its three venues. The chain has a long list. @returns the secret of a token for
 * all tenants
 */
const createSource = (database: string): Promise<string> =>
  createMigrated(server, database, async sql => {
    const [chain] = await sql<{ id: number }[]>`insert into tenant (name) values ('Chain') returning id`
    await sql`insert into tenant (name, parent_id) select 'Venue ' || n, ${chain!.id} from generate_series(1, 3) n`
    await sql`
      insert into purchased_voucher (tenant_id, reference, product_title)
      select tenant.id, tenant.id || '-' || n, 'Product ' || n from tenant
      cross join generate_series(1, case when tenant.id = ${chain!.id} then 12000 else 200 end) n`
    await sql`insert into product (tenant_id, slug, title, currency) select id, 'a', 'Product', 'GBP' from tenant`
    await sql`
      insert into customer (tenant_id, surname, marketing_opted)
      select id, n, true from tenant cross join generate_series(1, 80) n`
    return (await createTestToken(sql, [whole(chain!.id)], { rateLimit: 1_000_000 })).secret
  })

/** Starts a platform, which changes, adds, moves and deletes records until it is stopped. */
function startWriter(sql: postgres.Sql) {
  let changes = 0
  const steps = [
    () => sql`update purchased_voucher set product_title = ${`Changed ${changes}`} where id % 997 = ${changes % 997}`,
    () => sql`delete from purchased_voucher where id in (select id from purchased_voucher order by random() limit 3)`,
    () => sql`
      insert into purchased_voucher (tenant_id, reference)
      select id, ${`new ${changes} `}::text || id from tenant order by random() limit 2`,
    () => sql`
      update purchased_voucher set tenant_id = (select id from tenant order by random() limit 1)
      where id in (select id from purchased_voucher order by random() limit 2)`,
    () => sql`update customer set marketing_opted = not marketing_opted where id % 31 = ${changes % 31}`,
    () => sql`update product set title = ${`Product ${changes}`}`,
  ]
  const stop = repeat(async () => {
    await steps[changes % steps.length]!()
    changes += 1
    await pause(20)
  })
  return { changes: () => changes, stop }
}

/** Runs the sync, and kills it `life` milliseconds after the first event; null lets it end. */
async function runSync(environment: NodeJS.ProcessEnv, place: Place, life: number | null) {
  const { child, ended } = start(['sync', '--json', '--to', place.to], environment)
  let errors = ''
  child.stderr.on('data', chunk => {
    errors += chunk
  })
  let timer: NodeJS.Timeout | undefined
  let resumed = false
  let events = 0
  for await (const line of createInterface(child.stdout)) {
    const event = JSON.parse(line)
    events += 1
    if (event.event === 'error') errors += event.message
    if (event.event === 'start') resumed = event.resumed
    // Before the first checkpoint there is nothing to resume. The first checkpoint is written before the first progress
    // event.
    if (life !== null && (resumed || event.event === 'progress'))
      timer ??= setTimeout(() => child.kill('SIGKILL'), life)
  }
  const code = await ended
  clearTimeout(timer)
  return { code, errors, resumed, events }
}

describe.each(everyPlace)('a copy in %s', async (kind, placeOf) => {
  const database = kind.toLowerCase().replace(/\W/g, '_')
  let secret = ''
  let service: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => {
    secret = await createSource(database)
    const limits = { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000' }
    service = await serve({ DATABASE_URL: server.url(database), LOG_LEVEL: 'fatal', SHUTDOWN_DELAY: '0', ...limits })
  })
  afterAll(() => service.stop('SIGKILL'))

  test(`a copy equals the source after ${kills} kills`, { timeout }, async () => {
    const { origin } = service
    const place = placeOf(server.url(database))
    const sql = server.open(database, 2)
    const writer = startWriter(sql)
    const environment = { VOUCHER_GATEWAY_TOKEN: secret, VOUCHER_GATEWAY_URL: origin }
    const random = createRandom(kills)
    let killed = 0
    let resumed = 0
    for (let run = 1; killed < kills; run++) {
      if (run % killsPerFullPass === 0) await sql`select gateway.require_full_pass()`
      const outcome = await runSync(environment, place, random.next() * longestLife)
      if (outcome.code === null) killed += 1
      else expect([outcome.code, outcome.errors]).toEqual([0, ''])
      if (outcome.resumed) resumed += 1
    }
    expect(resumed).toBeGreaterThan(kills / 2)
    await writer.stop()
    expect(writer.changes()).toBeGreaterThan(kills)
    expect(await runSync(environment, place, null)).toMatchObject({ code: 0, errors: '', resumed: true })
    await sql.end()
    const copy = await place.read()
    const source = await readService(origin, secret)
    const keys = new Set([...Object.keys(copy), ...Object.keys(source)])
    // PostgreSQL's jsonb does not keep the order of keys.
    const differing = [...keys].filter(key => !isDeepStrictEqual(copy[key], source[key]))
    expect(differing.map(key => [key, copy[key], source[key]])).toEqual([])
    expect(Object.keys(source).length).toBeGreaterThan(10_000)
  })
})
