/**
 * Upgrades each dumped release under load: the old service and the new one use the same database before, during and
 * after the migration, while the platform writes. No request is refused, and no change is lost. With UPGRADE=long, the
 * old service is the release itself, and adopted platforms are tested too, with tables in the database of the gateway
 * or on another server.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createEndpoint } from '../../src/domain/event/endpoint.ts'
import { startLoad } from '../faults/support/load.ts'
import type { FaultServer } from '../faults/support/server.ts'
import { startFaultServer } from '../faults/support/start.ts'
import { createTestToken, tester } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDirectory } from '../support/directory.ts'
import { run, type Service, serve } from '../support/process.ts'
import { until } from '../support/until.ts'
import { countWaiting, findReordered } from '../webhook/outcome.ts'
import { startReceiver } from '../webhook/receiver.ts'
import { dumpedReleases, fileOf, readDump } from './dumps.ts'
import { changeMapping, copyMapping, createNextRelease, platformChanges, writeChanges } from './next-release.ts'

const isLong = process.env.UPGRADE === 'long'
const kinds = isLong ? (['plain', 'adopted', 'replicated'] as const) : (['plain'] as const)
const nextProgram = { entry: createNextRelease() }

/** Starts a server for dumps, and creates the roles, which dumps do not contain. */
async function startServerForDumps(settings: Record<string, string> = {}): Promise<FaultServer> {
  const server = await startFaultServer(settings)
  const roles = 'create role voucher_gateway nologin; create role voucher_gateway_reader nologin'
  await server.use('postgres', sql => sql.unsafe(roles).simple())
  return server
}

const server = await startServerForDumps()
const otherServer = isLong ? await startServerForDumps({ wal_level: 'logical', synchronous_commit: 'on' }) : server

/** Restores a dump without owners, and gives the reading functions to the reader. */
async function restore(on: FaultServer, database: string, statements: string): Promise<void> {
  await on.use('postgres', sql => sql.unsafe(`create database ${database}`))
  await on.use(database, sql => sql.unsafe(`${statements}; call gateway.give_to_reader()`).simple())
}

/** Runs a command that has to succeed. Its stderr is not checked, because it may report that it waited for a lock. */
async function succeed(args: string[], environment: NodeJS.ProcessEnv, program: { entry?: string }): Promise<string> {
  const { code, stdout, stderr } = await run(args, environment, { ...program, timeout: 120_000 })
  expect(code, `${args.join(' ')}: ${stdout}${stderr}`).toBe(0)
  return stdout
}

/** Reads the tables, and the digests of functions and views, whose texts differ after a dump. */
const readSchema = (database: string) =>
  server.use(
    database,
    sql => sql`
      select name, md5 from gateway.present_object join pg_class on oid::regclass::text = name and relkind <> 'v'
      union all
      select file, md5 from gateway.definition
      union all
      select concat_ws('.', table_name, column_name), concat_ws(' ', data_type, is_nullable, column_default)
      from information_schema.columns where table_schema = 'public' order by name`,
  )

/** Builds the last commit that changed a file. @returns the path of the program to run */
function buildCommitOf(file: string): string {
  const root = join(createDirectory(), 'old')
  const run = (cwd: string, command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim()
  const commit = run('.', 'git', 'log', '-1', '--format=%H', '--', file)
  run('.', 'git', 'worktree', 'add', '--detach', root, commit)
  afterFile(() => {
    run('.', 'git', 'worktree', 'remove', '--force', root)
  })
  run(root, 'npm', 'ci', '--prefer-offline')
  run(root, 'npm', 'run', '-s', 'build')
  return join(root, 'dist/main.js')
}

const cases = dumpedReleases.flatMap(release => kinds.map(kind => ({ release, kind })))
const programs = new Map(isLong ? dumpedReleases.map(release => [release, buildCommitOf(fileOf(release))]) : [])

test.each(cases)('no request is refused and no change lost while $release is upgraded, $kind', {
  timeout: 600_000,
}, async of => {
  const { release, kind } = of
  const { owners, statements } = readDump(release)
  const entry = programs.get(release)
  const program = entry === undefined ? {} : { entry }

  const database = `${kind}_${release.replaceAll(/\W/g, '_')}`
  await restore(server, database, statements)
  const platform = kind === 'replicated' ? otherServer : server
  const environment = {
    ...{ DATABASE_URL: server.url(database), DATABASE_POOL: '4', RATE_LIMIT_PER_MINUTE: '1000000' },
    ...(kind === 'replicated' && { PLATFORM_URL: platform.url(database) }),
    ...{ WEBHOOK_NETWORKS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: join(import.meta.dirname, '../webhook/receiver.pem') },
  }
  // The checkout is the old service here, and needs its own migrations.
  if (!isLong) await succeed(['migrate'], environment, {})

  const mapping = createDirectory()
  if (kind === 'replicated') {
    const tables = 'tenant, category, product, product_category, variant, purchased_voucher, customer'
    await restore(platform, database, statements)
    await platform.use(database, sql => sql`drop schema gateway cascade`)
    await server.use(database, sql => sql.unsafe(`drop table ${tables}`))
  }
  if (kind !== 'plain') {
    copyMapping(mapping)
    await succeed(['adopt', 'apply', mapping], environment, program)
  }

  const receiver = await startReceiver()
  const pool = connect(server.url(database), { max: 1, statementTimeoutMs: 10_000, role: serviceRole })
  onTestFinished(() => pool.end({ timeout: 1 }))
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
  const write = platform.use(database, async sql => {
    // Each change gives its vouchers another balance than the previous change.
    for (let change = 0; !upgraded; change++) {
      await sql`update purchased_voucher set current_balance = ${Math.floor(change / 50) % 10} where id % 50 = ${change % 50}`
    }
  })
  try {
    await load.succeed(100)
    const { missing, made } = JSON.parse(await succeed(['migrate', '--check', '--json'], environment, nextProgram))
    expect(JSON.parse(await succeed(['migrate', '--json'], environment, nextProgram))).toEqual({
      applied: missing,
      made,
    })
    // The old service runs the steps, and the new service will send the events.
    const tenants = owners.map(({ tenantId }) => tenantId)
    const token = await createTestToken(pool, tenants)
    await createEndpoint(pool, tester, token.id, receiver.url)
    // Simulates a return to the old service after the migration.
    await start(program)
    await load.succeed(100)
    await start(nextProgram)
    await load.succeed(200)
    // Like a load balancer, the load stops using the old services before they stop.
    const former = services.splice(0, 2)
    await load.succeed(50)
    for (const service of former) expect(await service.stop('SIGTERM')).toBe(0)
    await load.succeed(100)
    if (kind !== 'plain') {
      await platform.use(database, sql => sql.unsafe(platformChanges).simple())
      // A replicated service copies a new column within seconds.
      const select = `select from pg_attribute where attrelid = 'public.purchased_voucher'::regclass and attname = 'next_text'`
      await expect.poll(() => server.use(database, sql => sql.unsafe(select))).toHaveLength(1)
      changeMapping(mapping)
      await succeed(['adopt', 'apply', mapping], environment, nextProgram)
      await load.succeed(100)
    }
  } finally {
    upgraded = true
    await write
  }
  await platform.use(database, sql => sql.unsafe(writeChanges).simple())
  const readChanges = () =>
    server.use(database, async sql => {
      const [changes] = await sql`
        select next_text, next_at = '2026-01-02' as is_timely, is_next, (select name from gateway."order") as "order",
               (select count(*)::integer from pg_proc where pronamespace = 'gateway'::regnamespace and prosrc like '%Changed.%'
                and proname in ('make_step', 'write_voucher', 'write_order', 'capture_rows_of_public.purchased_voucher')) as made
        from gateway.voucher where id = 1`
      return changes
    })
  const changes = { next_text: 'Enjoy', is_timely: true, is_next: true, order: 'First', made: 4 }
  await expect.poll(readChanges, { timeout: 30_000 }).toEqual(changes)
  expect((await load.stop()).filter(call => call.status !== 200 || call.isForeign || !call.isWhole)).toEqual([])
  await until('all webhooks', async () => (await countWaiting(pool)) === 0, 30_000)
  expect(receiver.delivered().length).toBeGreaterThan(owners.length)
  expect(findReordered(receiver.delivered())).toEqual([])
  const verify = async () => (await run(['verify'], environment, nextProgram)).code
  await expect.poll(verify, { timeout: 30_000 }).toBe(0)

  if (kind !== 'plain') return
  const fresh = `fresh_${database}`
  await server.use('postgres', sql => sql.unsafe(`create database ${fresh}`))
  await succeed(['migrate'], { ...environment, DATABASE_URL: server.url(fresh) }, nextProgram)
  expect(await readSchema(database)).toEqual(await readSchema(fresh))
})
