/**
 * A base backup is recovered to an instant before changes that partners have received: the partners need a full pass,
 * and then miss nothing. Then the backup is recovered again, to a later instant of the first timeline.
 */
import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { VoucherGateway } from '#client'
import postgres from '#postgres'
import { findCluster } from '../../packages/embedded/src/paths.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { addressUrl, connect } from '../support/connect.ts'
import { directoryPlace, type Place, readService } from '../support/copies.ts'
import { createDirectory } from '../support/directory.ts'
import { freePort } from '../support/free-port.ts'
import { packagedPrograms, startPackaged } from '../support/packaged-postgres.ts'
import { run, serve } from '../support/process.ts'

function createServerDirectory(): string {
  const path = createDirectory()
  const { uid, gid } = findCluster(path).account
  chownSync(path, uid, gid)
  return path
}

/** Starts a server with archived WAL. @param recovery the settings of the recovery */
async function startServer(archive: string, recovery: Record<string, string> = {}, backup?: string) {
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f`, fsync: 'off' }
  const server = await startPackaged({ ...archiving, ...recovery }, backup)
  const { host, port, user } = server
  const sql = postgres({ host, port, user, database: 'postgres', max: 1, onnotice: () => {} })
  return { ...server, sql, url: addressUrl(server) }
}

test('after a recovery to an earlier instant, partners read everything again and miss no change', async () => {
  const archive = createServerDirectory()
  const backup = join(createServerDirectory(), 'backup')
  const primary = await startServer(archive)
  const owner = connect(primary.url, { max: 1, statementTimeoutMs: 0 })
  await migrate(owner)
  const [tenant] = await primary.sql<{ id: number }[]>`insert into tenant (name) values ('Venue') returning id`
  await primary.sql`
    insert into purchased_voucher (tenant_id, reference) select ${tenant!.id}, 'REF-' || n from generate_series(1, 300) n`
  const { secret } = await createTestToken(owner, [whole(tenant!.id)], { rateLimit: 1_000_000 })
  await owner.end()

  const place = directoryPlace()
  const PORT = String(await freePort())
  const start = ({ url }: { url: string }) =>
    serve({ DATABASE_URL: url, PORT, RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000' })
  /** Runs the sync of a partner until its copy has all changes. */
  const sync = async (origin: string, copy: Place) => {
    const environment = { VOUCHER_GATEWAY_TOKEN: secret, VOUCHER_GATEWAY_URL: origin }
    const isInStep = async () => {
      const outcome = await run(['sync', '--json', '--to', copy.to], environment)
      expect([outcome.code, outcome.stderr], outcome.stdout).toEqual([0, ''])
      return JSON.stringify(await copy.read()) === JSON.stringify(await readService(origin, secret))
    }
    await expect.poll(isInStep, { timeout: 30_000 }).toBe(true)
  }
  const clientOf = (url: string) => new VoucherGateway({ url, token: secret })
  const write = async (sql: postgres.Sql, name: string) => {
    await sql`insert into purchased_voucher (tenant_id, reference) values (${tenant!.id}, ${`${name} sale`})`
    await sql`update purchased_voucher set product_title = ${name} where id % 7 = 0`
    await sql`delete from purchased_voucher where id in (select min(id) from purchased_voucher)`
  }

  const archiveAll = async (sql: postgres.Sql) => {
    const [wal] = await sql<{ file: string }[]>`select pg_walfile_name(pg_switch_wal()) as file`
    const isArchived = async () => {
      const [row] = await sql`select from pg_stat_archiver where last_archived_wal >= ${wal!.file}`
      return row !== undefined
    }
    await expect.poll(isArchived, { timeout: 20_000 }).toBe(true)
  }

  const before = await start(primary)
  await sync(before.origin, place)
  execFileSync(
    join(packagedPrograms(), 'pg_basebackup'),
    ['-h', primary.host, '-p', `${primary.port}`, '-U', primary.user, '-D', backup, '-X', 'none', '-c', 'fast'],
    { ...findCluster(archive).account, cwd: '/', stdio: 'ignore' },
  )
  await write(primary.sql, 'kept')
  await sync(before.origin, place)
  const [instant] = await primary.sql<{ now: string }[]>`select clock_timestamp()::text as now`
  await write(primary.sql, 'lost')
  const [later] = await primary.sql<{ now: string }[]>`select clock_timestamp()::text as now`
  await sync(before.origin, place)
  const { serverTime, epoch } = await clientOf(before.origin).changes()
  expect(JSON.stringify(await place.read())).toContain('lost sale')
  await before.stop('SIGTERM')
  await archiveAll(primary.sql)
  await primary.sql.end()
  await primary.stop()

  /** Starts a server that recovers the backup up to an instant. @param timeline also sets `recovery_target_timeline` */
  const recover = async (target: string, timeline: Record<string, string> = {}) => {
    const recovery = { restore_command: `cp ${archive}/%f %p`, recovery_target_time: target, ...timeline }
    const server = await startServer(archive, { ...recovery, recovery_target_action: 'promote' }, backup)
    onTestFinished(async () => {
      await server.sql.end()
      await server.stop()
    })
    const isInRecovery = async () => (await server.sql`select pg_is_in_recovery() as is`)[0]?.is
    await expect.poll(isInRecovery, { timeout: 20_000 }).toBe(false)
    return server
  }
  const restored = await recover(instant!.now)
  const after = await start(restored)
  const client = clientOf(after.origin)
  const removals = client.removals(tenant!.id, { updatedSince: serverTime })
  await expect(removals.pages().next()).rejects.toMatchObject({ needsFullPass: true })
  expect((await client.identity(tenant!.id)).epoch).toBeGreaterThan(epoch)

  await write(restored.sql, 'new')
  await sync(after.origin, place)
  const text = JSON.stringify(await place.read())
  expect(text).toContain('kept sale')
  expect(text).toContain('new sale')
  expect(text).not.toContain('lost')
  await write(restored.sql, 'newer')
  await sync(after.origin, place)
  expect(JSON.stringify(await place.read())).toContain('newer sale')
  const verified = await run(['verify'], { DATABASE_URL: restored.url })
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('agree with the sources')])
  await after.stop('SIGTERM')

  // The recovery began timeline 2, which is now the newest one.
  await archiveAll(restored.sql)
  const titles = async ({ sql }: { sql: postgres.Sql }) =>
    (await sql`select distinct product_title as title from purchased_voucher`).map(({ title }) => title)
  expect(await titles(await recover(later!.now))).not.toContain('lost')
  expect(await titles(await recover(later!.now, { recovery_target_timeline: 'current' }))).toContain('lost')
})
