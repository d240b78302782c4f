/**
 * Fills of the entries, and changes that the follower finds without stamps. Steps run beside writers and beside each
 * other.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { listTriggers } from '../../src/db/own-triggers.ts'
import type { Sql } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { createFollower } from '../../src/domain/sync/follower.ts'
import { followed } from '../support/followed.ts'
import { untilLockWaits } from '../support/locks.ts'
import { until } from '../support/until.ts'
import { createFigures, insertVouchers, step, undo } from './figure-records.ts'

const { pool, platform, loader, address, expectFollowed, expectEntriesOfRecords, reset } = await createFigures()

beforeEach(reset)

test('a loader that keeps stamps is followed by a fill', async () => {
  const old = '2020-01-01T00:00:00Z'
  await insertVouchers(loader)
  await loader`update purchased_voucher set updated_at = ${old}, void = true where id = 5`
  await expectFollowed()
  await platform.begin(async sql => {
    await sql`set local gateway.keep_updated_at = 'on'`
    const load = (on: Sql) => on`insert into customer (tenant_id, consented_at, updated_at) values (1, now(), ${old})`
    await sql.savepoint(inner => load(inner).then(undo)).catch(() => {})
    await load(sql)
  })
  await expectFollowed()
})

test('a step follows a loader that keeps stamps completely or not at all', async () => {
  let stepping: Promise<unknown> | undefined
  await platform.begin(async holder => {
    await holder`lock table gateway.planned_stamp in access exclusive mode`
    stepping = step(pool, 1000)
    // The step has looked for requests of fills, and has not read the records.
    await untilLockWaits(platform)
    await platform.begin(async sql => {
      await sql`update purchased_voucher set void = true where id = 5`
      await sql`set local gateway.keep_updated_at = 'on'`
      await sql`update purchased_voucher set updated_at = '2020-01-01', void = true where id = 6`
    })
  })
  await stepping
  expect([0, 2]).toContain((await platform`select from gateway.voucher_entry where state = 'void'`).length)
  await expectFollowed()
})

test('records that an applier writes before their tenants are followed', async () => {
  await platform.begin(async sql => {
    await sql`set local session_replication_role = replica`
    await sql`insert into purchased_voucher (tenant_id, reference) select n, 'V' || n from generate_series(1001, 1600) n`
    await sql`insert into customer (tenant_id, marketing_opted) select n, n % 2 = 0 from generate_series(1001, 1600) n`
    await sql`select pg_sleep(0.01)`
    // The stamps have passed at the end of this transaction.
    await followed(pool)
  })
  await expectFollowed()
})

test('a clock that steps back twice is followed by two fills, although one full pass covers both', async () => {
  const setClock = (minutes: number) =>
    platform.unsafe(`
    create or replace function gateway.clock_microseconds() returns bigint language sql volatile parallel safe
    return (extract(epoch from clock_timestamp() + interval '${minutes} minutes') * 1000000)::bigint`)
  const [row] = await platform<{ reached: string }[]>`select clock_timestamp() as reached`
  for (const minutes of [-1, -2]) {
    await setClock(minutes)
    await platform`update purchased_voucher set void = true where id % 2 = ${minutes + 2}`
    await pool`select gateway.require_full_pass(${row!.reached}::text::timestamptz)`
    await expectFollowed(`${minutes} minutes`)
  }
  await setClock(0)
})

test('neither a recount nor a read of figures waits for the other', async () => {
  await platform.begin(async reader => {
    await reader`select from gateway.figure_rollup`
    const counted = pool`select gateway.recount_figures()`.then(() => 'counted')
    const waits = untilLockWaits(platform).then(
      () => 'waits',
      () => 'nothing',
    )
    expect(await Promise.race([counted, waits])).toBe('counted')
  })
  await expectFollowed()
})

/**
 * Makes a step whose connection the server ends when all of it is written.
 *
 * @returns whether it was ended: a step that creates an index does not wait for the row that is locked here
 */
const killStep = () =>
  platform.begin(async holder => {
    await holder`select from gateway.follower for update`
    let isKilled: boolean | undefined
    const stepping = step(pool, 5).then(
      () => (isKilled = false),
      () => (isKilled = true),
    )
    const waiting = () => platform<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('the step waits or has ended', async () => isKilled !== undefined || (await waiting()).length > 0)
    for (const { pid } of await waiting()) await platform`select pg_terminate_backend(${pid}::int)`
    await stepping
    // The process of the server lets go of it a moment after its connection has ended.
    await holder`select pg_advisory_xact_lock(gateway.follower_lock())`
    return isKilled
  })

test('a fill that is killed goes on, and loses no change from the time in between', async () => {
  await pool`select gateway.recount_figures()`
  await platform`update gateway.voucher_entry set current_balance = 1 where id % 3 = 0`
  await platform`delete from gateway.voucher_entry where id % 7 = 0`
  await platform`delete from gateway.voucher_text where id % 5 = 0`
  await platform`insert into gateway.consent_entry values (5000, 1, now(), true, now()), (5001, 1, now(), false, now())`
  const changes = [
    'delete from purchased_voucher where id = 2',
    'delete from purchased_voucher where id = 39',
    'update purchased_voucher set tenant_id = 4 where id in (4, 38)',
    "insert into purchased_voucher (id, tenant_id, reference) values (2, 1, 'back')",
    'update purchased_voucher set id = 1 + 100 * id where id in (1, 30)',
    'delete from customer where id in (1, 37)',
    'update customer set marketing_opted = false where id in (2, 36)',
  ]
  let steps = 0
  let kills = 0
  for (let more = true; more; steps++) {
    expect((await checkFigures(pool)).asOf, 'not counted yet').toBeNull()
    const change = changes[steps]
    if (change) await platform.unsafe(change)
    if (await killStep()) kills++
    more = await step(pool, 5)
  }
  expect(kills).toBeGreaterThan(changes.length)
  await expectEntriesOfRecords()
  await expectFollowed()
})

test('an event that requires a full pass lets the figures be filled again', async () => {
  await platform`alter table purchased_voucher disable trigger user`
  await platform`update purchased_voucher set void = true, updated_at = '2020-01-01' where id < 10`
  await platform.begin(async sql => {
    await sql`alter table purchased_voucher enable trigger user`
    for (const [name, firing] of Object.entries(listTriggers)) {
      if (firing !== 'origin') await sql.unsafe(`alter table purchased_voucher enable ${firing} trigger ${name}`)
    }
  })
  await followed(pool)
  expect((await checkFigures(pool)).differences).toMatchObject([{ of: 'entries', kind: 'voucher', rows: 9 }])
  await pool`select gateway.require_full_pass()`
  expect((await checkFigures(pool)).asOf).toBeNull()
  await expectFollowed()
})

test('a step that takes longer than a statement may is made again without that limit', async () => {
  await platform.unsafe(`
    create function public.delay() returns trigger language plpgsql as
      'begin perform pg_sleep(0.4); return null; end';
    create trigger delay before insert on gateway.voucher_entry for each statement execute function public.delay()`)
  const limits = { max: 1, statementTimeoutMs: 10_000, backgroundTimeoutMs: 200, role: serviceRole }
  const service = connect(address, limits)
  await platform`update purchased_voucher set void = true where id < 4`
  await createFollower(service, new AbortController().signal)()
  await platform`drop trigger delay on gateway.voucher_entry`
  expect(await platform`select from gateway.voucher_entry where state = 'void'`).toHaveLength(3)
  await service.end()
})

describe('a purge of removals', () => {
  test.each(['delete from gateway.removal', 'truncate gateway.removal'])('%s', async purge => {
    await platform`update customer set marketing_opted = false where id in (2, 4)`
    await expectFollowed()
    const readWithdrawals = () => platform`select * from gateway.withdrawal_entry order by id`
    const withdrawals = await readWithdrawals()
    await platform`delete from purchased_voucher where id < 10`
    await platform`delete from customer where id in (4, 8, 9)`
    await platform.unsafe(purge)
    await followed(pool)
    expect((await checkFigures(pool)).differences).toEqual([])
    expect(await platform`select from gateway.voucher_entry where id < 10`).toHaveLength(0)
    expect(await readWithdrawals()).toEqual(withdrawals)
    await platform`truncate gateway.withdrawal_entry`
    await pool`select gateway.recount_figures()`
  })

  test('that deletes only what was read requires no fill', async () => {
    await platform`delete from purchased_voucher where id < 10`
    await expectFollowed()
    await platform`delete from gateway.removal where reason = 'deleted'`
    expect(await pool`select from gateway.fill_request`).toHaveLength(0)
    await expectFollowed()
  })
})

test('one transaction follows at a time, and a second one does not wait', async () => {
  await platform.begin(async sql => {
    expect(await step(sql, 10)).toBe(false)
    expect(await step(pool, 10)).toBeNull()
  })
  expect(await step(pool, 10)).toBe(false)
})

test('each snapshot is exact while writers and the follower run', async () => {
  const write = async (writer: number) => {
    for (let turn = 0; turn < 15; turn++) {
      const role = turn % 2 > 0 ? 'replica' : 'origin'
      const written = platform.begin(async sql => {
        await sql`select set_config('session_replication_role', ${role}, true)`
        if (turn % 5 === 0) await sql`select gateway.announce_bulk_write('100 milliseconds')`
        await insertVouchers(sql, 1 + ((writer * turn) % 25))
        await sql`update purchased_voucher set current_balance = current_balance / 2 where id % 7 = ${turn % 7}`
        if (turn % 3 === 0) await sql`select pg_sleep(0.02)`
        await sql`update customer set marketing_opted = not marketing_opted where id % 9 = ${turn % 9}`
        await sql`delete from customer where id = ${writer * 10 + turn}`
      })
      // When writers wait for each other, one of them fails.
      await written.catch(() => {})
    }
  }
  let writing = true
  const done = Promise.all([write(1), write(2), write(3)]).finally(() => {
    writing = false
  })
  const follow = async () => {
    while (writing) await step(pool, 7)
  }
  const verify = async () => {
    for (let checks = 0; writing || checks < 3; checks++) expect((await checkFigures(pool)).differences).toEqual([])
  }
  await Promise.all([done, follow(), follow(), verify()])
  await expectFollowed()
})
