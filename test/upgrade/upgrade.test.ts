/**
 * The upgrade of each dumped release under load: the old service and the new one answer on one database, before, during and
 * after the migration, while the platform writes. No request is refused.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startLoad } from '../faults/support/load.ts'
import { startFaultServer } from '../faults/support/start.ts'
import { createLaterVersion } from '../support/later-version.ts'
import { run, type Service, serve } from '../support/process.ts'
import { dumpedReleases, fileOf, readDump } from './dumps.ts'
import { buildCommitOf } from './old-program.ts'

const isLong = process.env.UPGRADE === 'long'
const newest = readdirSync(join(import.meta.dirname, '../../sql')).filter(file => file.includes('.do.')).length

/** The new version: one more migration, which holds its locks for two seconds, and other functions. */
const next = {
  entry: createLaterVersion({
    version: '99.0.0',
    edits: {
      'sql/functions/step/make_step.sql': ['declare\n', 'declare -- Changed.\n'],
      'sql/functions/mapping/write.template.sql': ['-- Evaluates the mapping', '-- Changed. Evaluates the mapping'],
      'sql/functions/capture/capture.template.sql': ['as $body$\nbegin\n', 'as $body$\nbegin -- Changed.\n'],
    },
    migrations: {
      [`${String(newest + 1).padStart(4, '0')}.do.next.sql`]: `
        create index voucher_next on gateway.voucher (tenant_id, id);
        alter table gateway.rejected add column seen_at timestamptz;
        select pg_sleep(2);`,
    },
  }),
}

const server = await startFaultServer()
// A dump has no roles.
await server.use('postgres', sql =>
  sql.unsafe('create role voucher_gateway nologin; create role voucher_gateway_reader nologin').simple(),
)

test.each(dumpedReleases)('no request is refused while %s is upgraded', { timeout: 600_000 }, async release => {
  const { owners, statements } = readDump(release)
  const old = isLong ? buildCommitOf(fileOf(release)) : undefined

  const database = release.replaceAll(/\W/g, '_')
  await server.use('postgres', sql => sql.unsafe(`create database ${database}`))
  // A dump has no owners.
  await server.use(database, sql => sql.unsafe(`${statements}; call gateway.give_to_reader()`).simple())

  const environment = { DATABASE_URL: server.url(database), DATABASE_POOL: '4', RATE_LIMIT_PER_MINUTE: '1000000' }
  const program = old === undefined ? {} : { entry: old }
  const status = await run(['migrate', '--status'], environment, program)
  expect(status.stderr, 'A file of sql/ was rewritten: make the dump again, as README.md says.').toBe('')

  const migrate = async () => {
    const { code, stderr } = await run(['migrate'], environment, next)
    // It can have waited for a lock, and then says so.
    expect(code, stderr).toBe(0)
  }
  // The checkout serves no database that lacks its migrations: at night the old program is built.
  if (old === undefined && status.stdout.includes('missing')) await migrate()

  const services: Service[] = []
  const start = async (options: { entry?: string }) => {
    const service = await serve(environment, options)
    await expect.poll(async () => (await service.ready()).status, { timeout: 30_000 }).toBe(200)
    services.push(service)
  }
  onTestFinished(async () => {
    await Promise.all(services.map(service => service.stop('SIGKILL')))
  })

  await start(program)
  let turn = 0
  const load = startLoad(() => services[turn++ % services.length]!.restAddress, { database, owners }, 4)
  let upgraded = false
  const write = server.use(database, async sql => {
    for (let change = 0; !upgraded; change++) {
      await sql`update purchased_voucher set current_balance = ${change % 10} where id % 50 = ${change % 50}`
    }
  })
  try {
    await load.succeed(100)
    await migrate()
    // As when the new one does not work, and the old one has to come back.
    await start(program)
    await load.succeed(100)
    await start(next)
    await load.succeed(200)
    // The load balancer takes the old ones out first.
    const former = services.splice(0, 2)
    await load.succeed(50)
    for (const service of former) expect(await service.stop('SIGTERM')).toBe(0)
    await load.succeed(100)
  } finally {
    upgraded = true
    await write
  }
  const refused = (await load.stop()).filter(
    ({ status, isForeign, isWhole }) => status !== 200 || isForeign || !isWhole,
  )
  expect(refused).toEqual([])
  const isEqual = async () => (await run(['verify'], environment, next)).code
  await expect.poll(isEqual, { timeout: 30_000 }).toBe(0)
})
