/** Steps lose no change: with a clock that was set back, a table that is rewritten, a full disk, a time limit. */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createSteps, makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { createBuilders } from '../support/builders.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
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

/** Lets the last step be one of twenty seconds ago. */
const stopSteps = () => platform`
  update gateway.step set stamp = stamp - last + clock_timestamp() - interval '20 seconds' from (select max(stamp) as last from gateway.step) one`

test('a step whose clock is behind the clock of the last step gives later stamps (I4)', async () => {
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

test('an idle instance moves the last stamp, but not while another step is made or a change waits (I1, I4)', async () => {
  const makeSteps = createSteps(pool, new AbortController().signal)
  const secondsSinceStep = async () => (await readStepState(pool)).secondsSinceStep
  await stopSteps()
  await platform.begin(async session => {
    await session`lock table gateway.step_lock in exclusive mode`
    expect(await makeSteps()).toBe(1000)
    expect(await secondsSinceStep()).toBeGreaterThan(19)
  })
  await makeSteps()
  expect(await secondsSinceStep()).toBeLessThan(10)
  await stopSteps()
  await change(platform)
  const [row] = await pool<[{ isQuiet: boolean }]>`select gateway.make_quiet_step() as "isQuiet"`
  expect(row.isQuiet).toBe(false)
  expect(await secondsSinceStep()).toBeGreaterThan(19)
  expect(await makeSteps()).toBeLessThanOrEqual(100)
  expect(await secondsSinceStep()).toBeLessThan(10)
})

test('a table that is rewritten after a step began looks empty to it: its records wait for the next one, others do not (I7)', async () => {
  const product = await build.product(tenant)
  await change(platform)
  await pool.begin('isolation level repeatable read', async step => {
    await step`lock table gateway.step_lock in exclusive mode`
    await step`select 1`
    await platform`alter table purchased_voucher alter reference type varchar(100)`
    await step`select gateway.make_step(100)`
  })
  expect(await platform`select from gateway.voucher where id = ${voucher}`).toHaveLength(1)
  expect(await platform`select from gateway.product where id = ${product}`).toHaveLength(1)
})

test('a step that finds the disk full rejects no key (I9)', async () => {
  await change(platform)
  await platform.unsafe(`
    create function fill_disk() returns trigger language plpgsql as
      $$ begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$;
    create trigger fill_disk before insert or update on gateway.voucher for each row execute function fill_disk()`)
  await expect(makeStep(pool)).rejects.toMatchObject({ code: '53100' })
  await platform`drop function fill_disk cascade`
  await expectEqual()
})

test('a step that exceeds the time limit goes on with fewer keys, and takes what was written meanwhile (I3)', async () => {
  const service = connect(address, { max: 2, statementTimeoutMs: 10_000, role: serviceRole })
  onTestFinished(() => service.end({ timeout: 1 }))
  await platform.unsafe(`
    create function wait_for_disk() returns trigger language plpgsql as $$ begin
      perform pg_sleep(.003 * (select count(*) from written));
      return null;
    end $$;
    create trigger wait_for_disk after insert on gateway.voucher referencing new table as written
      for each statement execute function wait_for_disk()`)
  const venue = await build.tenant()
  // More than a step takes.
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${venue}, 'SLOW-' || n from generate_series(1, 1200) n`
  const makeSteps = createSteps(service, new AbortController().signal)
  await makeSteps()
  await change(platform)
  await platform`delete from purchased_voucher where reference = 'SLOW-7'`
  await until('no key waits', async () => {
    await makeSteps()
    return (await readStepState(pool)).waiting === 0
  })
  const [{ slice }] = await platform<[{ slice: number }]>`select slice from gateway.mapping where record = 'voucher'`
  expect(slice).toBeLessThan(1000)
  const [found] = await platform`
    select count(*) as records, count(*) filter (where reference = 'SLOW-7') as deleted
    from gateway.voucher where tenant_id = ${venue}`
  expect(found).toEqual({ records: 1199, deleted: 0 })
  expect(await findRecordProblems(pool)).toEqual([])
  await platform`drop function wait_for_disk cascade`
})

test('no step for ten seconds is a reason', async () => {
  await stopSteps()
  expect((await readStepState(pool)).reasons).toMatchObject([
    {
      code: 'STEPS_LATE',
      message: expect.stringMatching(/^No step was made for 2\d s, .*: no instance makes steps\.$/),
    },
  ])
})

test('a session that holds a lock of a table of steps is named', async () => {
  await stopSteps()
  await platform.begin(async session => {
    const [{ pid }] = await session<[{ pid: number }]>`select pg_backend_pid() as pid`
    await session`lock table gateway.note in share mode`
    const [late] = (await readStepState(pool)).reasons
    expect(late).toMatchObject({ code: 'STEPS_LATE', message: expect.stringContaining(`session ${pid} of `) })
    expect(late?.action).toMatch(`select pg_terminate_backend(${pid});`)
  })
})

test('a step that fails as a whole is made again with fewer keys, until the one that causes it is set aside (I9)', async () => {
  const ids = [await build.tenant({ name: 'BAD' }), await build.tenant()]
  await platform.unsafe(`
    create function fail_path() returns trigger language plpgsql as $$ begin
      if new.tenant_id = ${ids[0]} then raise exception 'hostile "path": value'; end if;
      return new;
    end $$;
    create trigger fail_path before insert or update on gateway.tenant_path for each row execute function fail_path()`)
  onTestFinished(async () => void (await platform`drop function fail_path cascade`))
  const makeSteps = createSteps(pool, new AbortController().signal)
  await expect(makeSteps()).rejects.toThrow('hostile')
  await stopSteps()
  expect((await readStepState(pool)).reasons).toMatchObject([
    { code: 'STEPS_LATE', message: expect.stringMatching(/: since \S+ steps fail: hostile "…" \(P0001\)\.$/) },
  ])
  await until('the others are records', async () => {
    await makeSteps().catch(() => {})
    return (await platform`select from gateway.tenant where id = ${ids[1]!}`).length > 0
  })
  expect(await findRecordProblems(pool)).toMatchObject([{ record: 'tenant', firstKeys: [`${ids[0]}`] }])
  await platform`drop function fail_path cascade`
  await platform`create function fail_path() returns trigger language plpgsql as 'begin return new; end'`
  await platform`update tenant set name = 'GOOD' where id = ${ids[0]!}`
})
