/** Steps lose no change: with a clock that was set back, a table that is rewritten, a full disk, a time limit. */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { codeOf } from '../../src/db/outage.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import { createSteps, makeStep, readStepState } from '../../src/projection/step.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { makeNextStep, projected } from '../support/projected.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const { address, pool, platform } = database
const build = createBuilders(database)
const tenant = await build.tenant()
const [voucher, other] = [await build.voucher(tenant), await build.voucher(tenant)]

let changes = 0
const change = (sql: typeof platform, id = voucher) =>
  sql`update purchased_voucher set product_title = ${`Title ${++changes}`} where id = ${id}`

async function expectEqual(): Promise<void> {
  await projected(pool)
  expect(await findRecordProblems(pool)).toEqual([])
}
beforeEach(expectEqual)

test('a step whose clock is behind that of the last one gives later stamps', async () => {
  await platform`
    insert into gateway.step select stamp + interval '1 hour', snapshot, waited, epoch, is_complete
    from gateway.step order by stamp desc limit 1`
  await change(platform)
  await platform`delete from purchased_voucher where id = ${other}`
  const read = async () => {
    const stamps = await platform<{ stamp: string }[]>`
      select stamp::text from gateway.step
      union all select updated_at::text from gateway.voucher where id = ${voucher}
      union all select updated_at::text from gateway.removal
      order by stamp desc limit 3`
    return stamps.map(({ stamp }) => stamp)
  }
  const [former = ''] = await read()
  await expectEqual()
  const stamps = await read()
  expect(new Set(stamps).size).toBe(3)
  expect(stamps.every(stamp => stamp > former)).toBe(true)
})

test('a step that began before a table was rewritten is made again: such a table looks empty to it', async () => {
  await change(platform)
  await expect(
    pool.begin('isolation level repeatable read', async step => {
      await step`lock table gateway.step_lock in exclusive mode`
      await step`select 1`
      await platform`alter table purchased_voucher alter reference type varchar(100)`
      await step`select gateway.make_step(100)`
    }),
  ).rejects.toMatchObject({ code: '55P03' })
  expect(await platform`select from gateway.voucher where id = ${voucher}`).toHaveLength(1)
})

test('a step that finds the disk full rejects no key', async () => {
  await change(platform)
  await platform.unsafe(`
    create function fill_disk() returns trigger language plpgsql as
      $$ begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$;
    create trigger fill_disk before insert on gateway.voucher for each row execute function fill_disk()`)
  await expect(makeStep(pool)).rejects.toMatchObject({ code: '53100' })
  await platform`drop function fill_disk cascade`
  await expectEqual()
})

test('a step that exceeds the time limit is repeated on a connection of its own, and takes what was written meanwhile', async () => {
  const limit = 1_000
  const limits = { statementTimeoutMs: limit, backgroundTimeoutMs: limit, answerTimeoutMs: limit + 500 }
  const service = connect(address, { ...limits, max: 1, role: serviceRole })
  onTestFinished(() => service.end({ timeout: 1 }))
  await platform.unsafe(`
    create table slow_write (pid integer);
    create function wait_for_disk() returns trigger language plpgsql security definer as $$ begin
      if (select count(*) from written) > 500 then
        perform pg_sleep(${(limit * 2.5) / 1000});
        insert into public.slow_write values (pg_backend_pid());
      end if;
      return null;
    end $$;
    create trigger wait_for_disk after insert on gateway.voucher referencing new table as written
      for each statement execute function wait_for_disk()`)
  const venue = await build.tenant()
  // More than a step takes.
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${venue}, 'SLOW-' || n from generate_series(1, 1200) n`
  const [{ stamp }] = await platform<[{ stamp: string }]>`select max(stamp) as stamp from gateway.step`

  await expect(makeNextStep(service.background)).rejects.toMatchObject({ code: '57014' })
  const written = await platform`
    select from gateway.tenant where id = ${venue} union all select from gateway.step where stamp > ${stamp}`
  expect(written).toHaveLength(0)
  await change(platform)
  await platform`delete from purchased_voucher where reference = 'SLOW-7'`

  const makeSteps = createSteps(service, new AbortController().signal)
  await until('no key waits', async () => {
    // A busy machine may exceed other limits.
    await makeSteps().catch(error => {
      if (codeOf(error) === '57014') throw error
    })
    return (await readStepState(pool)).waiting === 0
  })
  const [found] = await platform`
    select count(*) as records, count(*) filter (where reference = 'SLOW-7') as deleted
    from gateway.voucher where tenant_id = ${venue}`
  expect(found).toEqual({ records: 1199, deleted: 0 })
  expect(await findRecordProblems(pool)).toEqual([])
  const sessions = await platform<{ pid: number }[]>`select distinct pid from slow_write`
  expect(sessions).not.toEqual([])
  await until(
    'that connection is closed',
    async () => (await platform`select from pg_stat_activity where pid in (select pid from slow_write)`).length === 0,
  )
  await platform`drop function wait_for_disk cascade`
})
