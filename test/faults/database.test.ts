/** The database fails in all ways while callers send requests, a platform writes and a client syncs. */

import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { serve } from '../support/process.ts'
import { isShort } from './support/form.ts'
import { type Expectations, hold as holdUnder } from './support/hold.ts'
import { startProxy } from './support/proxy.ts'
import { createFaultServer, type FaultServer } from './support/server.ts'
import { createWorld } from './support/world.ts'

const primary = await createFaultServer()
await primary.start()
const world = await createWorld(primary, 'faults')
let current: FaultServer = primary
const proxy = await startProxy(() => current.port)
const environment = {
  DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/${world.database}`,
  RATE_STORE: 'postgres',
  RATE_LIMIT_PER_MINUTE: '1000000',
  LOG_LEVEL: 'fatal',
}
const service = await serve(environment)
const owner = () => current.open(world.database)
const servers = [primary]
afterAll(async () => {
  await service.stop('SIGKILL')
  await proxy.stop()
  for (const server of servers.reverse()) await server.remove()
})

const hold = (fault: () => Promise<void>, expectations?: Expectations) =>
  holdUnder({ service, world, server: () => current }, fault, expectations)

describe('the service holds while', () => {
  test('backends are killed', async () => {
    const sql = owner()
    await hold(async () => {
      for (let time = 0; time < (isShort ? 3 : 10); time++) {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = ${world.database} and application_name = 'voucher-gateway'`
        await pause(300)
      }
    })
    await sql.end()
  })

  test('the database is restarted', () =>
    hold(async () => {
      await primary.stop()
      await primary.start()
    }))

  test('the database is stopped at once, and recovers', () =>
    hold(async () => {
      await primary.stop('SIGQUIT')
      await primary.start()
    }))

  test('a backend crashes, and the database ends all others', () => hold(() => primary.crash()))

  test('the database is away for five seconds', () =>
    hold(async () => {
      await primary.stop()
      await pause(5_000)
      await primary.start()
    }))

  test('the database is frozen for eight seconds', () =>
    hold(async () => {
      primary.freeze()
      await pause(8_000)
      primary.thaw()
    }))

  test('the database has no free connections', () =>
    hold(async () => {
      const hoarders = primary.open('postgres', 60)
      const sql = owner()
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'voucher-gateway'`
      await Promise.allSettled(Array.from({ length: 60 }, () => hoarders`select pg_sleep(3)`))
      await hoarders.end({ timeout: 1 })
      await sql.end()
    }))

  test('a table is locked for eight seconds', async () => {
    const calls = await hold(
      async () => {
        const sql = owner()
        await sql.begin(async transaction => {
          await transaction`lock table customer`
          await pause(8_000)
        })
        await sql.end()
      },
      { unaffected: name => !name.startsWith('signup') },
    )
    expect(calls.some(({ name, status }) => name.startsWith('signup') && status === 503)).toBe(true)
  })

  test('a statement takes longer than it may', async () => {
    const calls = await hold(
      async () => {
        const sql = owner()
        await sql`create policy slow on customer using (pg_sleep(30) is null)`
        await sql`alter table customer enable row level security`
        await pause(6_000)
        await sql`alter table customer disable row level security`
        await sql`drop policy slow on customer`
        await sql.end()
      },
      { unaffected: name => !name.startsWith('signup') },
    )
    expect(calls.some(({ name, status }) => name.startsWith('signup') && status === 503)).toBe(true)
  })

  test('the disk has no room for what the service writes', async () => {
    const writes = ['audit_entry', 'redemption_token', 'request_count', 'request_error', 'token']
    const calls = await hold(
      async () => {
        const sql = owner()
        await sql`create function gateway.fill_disk() returns trigger language plpgsql as
          $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`
        for (const table of writes) {
          await sql.unsafe(`create trigger fill_disk before insert or update on gateway.${table}
            execute function gateway.fill_disk()`)
        }
        await pause(3_000)
        await sql`drop function gateway.fill_disk() cascade`
        await sql.end()
      },
      { unaffected: name => !name.startsWith('signup') && name !== 'resolution' },
    )
    expect(calls.some(({ name, status }) => name === 'resolution' && status === 503)).toBe(true)
  })

  test('a migration adds a column to a table that is read', () =>
    hold(async () => {
      const sql = owner()
      await sql`alter table purchased_voucher add column colour text`
      await pause(500)
      await sql`alter table purchased_voucher drop column colour`
      await sql.end()
    }))

  test('the standby is promoted', async () => {
    await primary.stop()
    const standby = await primary.createStandby()
    servers.push(standby)
    await primary.start()
    await standby.start()
    await hold(async () => {
      // Without writers for a moment, so that the standby has all that was committed.
      await primary.stop()
      const sql = standby.open('postgres')
      await sql`select pg_promote()`
      await sql.end()
      current = standby
      proxy.cut()
    })
  })
})
