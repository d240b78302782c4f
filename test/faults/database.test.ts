/** The database fails in different ways while callers send requests, a platform writes and a client syncs. */
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type postgres from '#postgres'
import { afterFile } from '../support/cleanups.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'
import { hold as holdUnder } from './support/hold.ts'
import type { FaultServer } from './support/server.ts'
import { startStandby, startWorld } from './support/start.ts'

const { server: primary, world, start } = await startWorld('faults')
let current: FaultServer = primary
const proxy = await startProxy(() => current.port)
afterFile(() => proxy.stop())
const DATABASE_URL = `postgres://postgres@127.0.0.1:${proxy.port}/${world.database}`
const service = await start({ DATABASE_URL, RATE_STORE: 'postgres' })

const asOwner = async (work: (sql: postgres.Sql) => Promise<unknown>) => void (await current.use(world.database, work))

const hold = (fault: () => Promise<void>, unaffected?: (name: string) => boolean) =>
  holdUnder({ service, world, server: () => current }, fault, unaffected)

describe('the service holds while', () => {
  test('backends are killed', () =>
    asOwner(sql =>
      hold(async () => {
        for (let time = 0; time < (isShort ? 3 : 10); time++) {
          await sql`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = ${world.database} and application_name = 'voucher-gateway'`
          await pause(300)
        }
      }),
    ))

  test('calls succeed again after an immediate shutdown of the database', () =>
    hold(async () => {
      await primary.stop('SIGQUIT')
      await primary.start()
    }))

  test('calls succeed again after a backend crashed and all others ended', () => hold(() => primary.crash()))

  test('calls succeed again after the database was stopped for five seconds', () =>
    hold(async () => {
      await primary.stop()
      await pause(5_000)
      await primary.start()
    }))

  test('calls succeed again after the database was suspended for eight seconds', () =>
    hold(async () => {
      primary.freeze()
      await pause(8_000)
      primary.thaw()
    }))

  test('calls succeed again after the database had no free connections', () =>
    hold(async () => {
      const hoarders = primary.open('postgres', 60)
      await asOwner(async sql => {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'voucher-gateway'`
        await Promise.allSettled(Array.from({ length: 60 }, () => hoarders`select pg_sleep(3)`))
      })
      await hoarders.end({ timeout: 1 })
    }))

  const isSignup = (name: string) => name.startsWith('signup')
  const written = ['audit_entry', 'request_count', 'request_error', 'token']

  test.each<[string, (sql: postgres.Sql) => Promise<unknown>]>([
    [
      'a statement takes longer than it may',
      async sql => {
        await sql`create policy slow on gateway.customer using (pg_sleep(30) is null)`
        await sql`alter table gateway.customer enable row level security`
        await pause(6_000)
        await sql`alter table gateway.customer disable row level security`
        await sql`drop policy slow on gateway.customer`
      },
    ],
    [
      'the disk has no room for what the service writes',
      async sql => {
        await sql`create function gateway.fill_disk() returns trigger language plpgsql as
          $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`
        for (const table of written) {
          await sql.unsafe(`create trigger fill_disk before insert or update on gateway.${table}
            execute function gateway.fill_disk()`)
        }
        await pause(3_000)
        const named = { status: 200, body: expect.stringContaining('DISK_FULL') }
        await expect.poll(service.ready, { timeout: 5_000 }).toMatchObject(named)
        await sql`drop function gateway.fill_disk() cascade`
      },
    ],
  ])('%s: only calls that need it are 503', async (_, fault) => {
    const isOther = (name: string) => !isSignup(name)
    const calls = await hold(() => asOwner(fault), isOther)
    expect(calls.some(({ name, status }) => isSignup(name) && status === 503)).toBe(true)
  })

  test('calls succeed again after the promotion of the standby', async () => {
    const standby = await startStandby(primary)
    const streams = primary.open('postgres')
    await until('the standby streams', async () => {
      return (await streams`select from pg_stat_replication where state = 'streaming'`).length > 0
    })
    await streams.end()
    await hold(async () => {
      // The primary stops first, so that the standby receives everything that was committed.
      await primary.stop()
      await standby.use('postgres', sql => sql`select pg_promote()`)
      current = standby
      proxy.cut()
    })
  })
})
