/** Steps lose no change during the first fill, after a clock is set back, on a full disk, and after a time limit. */
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../src/db/migration/migrate.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { createSteps, makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { expectProjected, findRecordProblems } from '../support/record-problems.ts'
import { until } from '../support/until.ts'

const { address, pool, platform, build } = await createDatabase()
const tenant = await build.tenant()
const [voucher, other] = [await build.voucher(tenant), await build.voucher(tenant)]
await projected(pool)

let changes = 0
const change = (sql: typeof platform, id = voucher) =>
  sql`update purchased_voucher set product_title = ${`Title ${++changes}`} where id = ${id}`

/** Makes the last step appear twenty seconds old. */
const ageLastStep = () => platform`
  update gateway.step set stamp = stamp - last + clock_timestamp() - interval '20 seconds' from (select max(stamp) as last from gateway.step) one`

test('a step sets later stamps even when the clock was set back (I4)', async () => {
  await platform`
    insert into gateway.step select stamp + interval '1 hour', snapshot, waited, epoch, is_complete
    from gateway.step order by stamp desc limit 1`
  await change(platform)
  await platform`delete from purchased_voucher where id = ${other}`
  const [{ former }] = await platform<[{ former: string }]>`select max(stamp)::text as former from gateway.step`
  await expectProjected(pool)
  const later = await platform`
    select from (
      select max(stamp) as stamp from gateway.step union select max(updated_at) from gateway.removal
      union select updated_at from gateway.voucher where id = ${voucher}
    ) last where stamp > ${former}::text::timestamptz`
  expect(later).toHaveLength(3)
})

test('an idle instance renews the last stamp, unless another step runs or a change waits (I1, I4)', async () => {
  const makeSteps = createSteps(pool, new AbortController().signal)
  const secondsSinceStep = async () => (await readStepState(pool)).secondsSinceStep
  await ageLastStep()
  await platform.begin(async session => {
    await session`lock table gateway.step_lock in exclusive mode`
    expect(await makeSteps()).toBe(1000)
    expect(await secondsSinceStep()).toBeGreaterThan(19)
  })
  await makeSteps()
  expect(await secondsSinceStep()).toBeLessThan(10)
  await ageLastStep()
  await change(platform)
  const [row] = await pool<[{ isQuiet: boolean }]>`select gateway.make_quiet_step() as "isQuiet"`
  expect(row.isQuiet).toBe(false)
  expect(await secondsSinceStep()).toBeGreaterThan(19)
  expect(await makeSteps()).toBeLessThanOrEqual(100)
  expect(await secondsSinceStep()).toBeLessThan(10)
})

test('a step that fails because the disk is full rejects no key (I9)', async () => {
  await change(platform)
  await platform.unsafe(`
    create function fill_disk() returns trigger language plpgsql as
      $$ begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$;
    create trigger fill_disk before insert or update on gateway.voucher for each row execute function fill_disk()`)
  await expect(makeStep(pool)).rejects.toMatchObject({ code: '53100' })
  await platform`drop function fill_disk cascade`
  await expectProjected(pool)
})

test('after a step that exceeds the time limit, steps take fewer keys, and lose no change (I3)', async () => {
  const service = connect(address, { max: 2, statementTimeoutMs: 10_000, role: serviceRole })
  await platform.unsafe(`
    create function wait_for_disk() returns trigger language plpgsql as $$ begin
      perform pg_sleep(.003 * (select count(*) from written));
      return null;
    end $$;
    create trigger wait_for_disk after insert on gateway.voucher referencing new table as written
      for each statement execute function wait_for_disk()`)
  const venue = await build.tenant()
  // More rows than one step processes.
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${venue}, 'SLOW-' || n from generate_series(1, 1200) n`
  const steps = createSteps(service, new AbortController().signal)
  // `createSteps` repeats a failed step at the next call.
  const makeSteps = () => steps().catch(() => {})
  await makeSteps()
  await change(platform)
  await platform`delete from purchased_voucher where reference = 'SLOW-7'`
  await until('no key waits', async () => {
    await makeSteps()
    return (await readStepState(pool)).waiting === 0
  })
  const [{ slice }] = await platform<[{ slice: number }]>`select slice from gateway.mapping where record = 'voucher'`
  expect(slice).toBeLessThan(1000)
  expect(await platform`select from gateway.voucher where tenant_id = ${venue}`).toHaveLength(1199)
  expect(await findRecordProblems(pool)).toEqual([])
  await platform`drop function wait_for_disk cascade`
})

test('steps that are ten seconds late are reported, with the session that locks a table of steps', async () => {
  await ageLastStep()
  const message = expect.stringMatching(/^No step was made for 2\d s, .*: no instance makes steps\.$/)
  expect((await readStepState(pool)).reasons).toMatchObject([{ code: 'STEPS_LATE', message }])
  await platform.begin(async session => {
    const [{ pid }] = await session<[{ pid: number }]>`select pg_backend_pid() as pid`
    await session`lock table gateway.note in share mode`
    const [late] = (await readStepState(pool)).reasons
    expect(late).toMatchObject({ code: 'STEPS_LATE', message: expect.stringContaining(`session ${pid} of `) })
    expect(late?.action).toMatch(`select pg_terminate_backend(${pid});`)
  })
})

test('a failed step is repeated with fewer keys, until the failing key is rejected (I9)', async () => {
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
  await ageLastStep()
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

test('the fill is complete after interruptions, and after writes between its steps (I6, I8)', async () => {
  const { owner: platform, pool } = await createEmptyDatabase()
  await migrate(platform)
  await platform
    .unsafe(`insert into tenant (id, parent_id, name) values (1, null, 'Group'), (2, 1, 'Shop');
      insert into product (id, tenant_id, slug, title, currency) values (1, 2, 'tea', 'Tea', 'GBP');
      insert into category (id, tenant_id, slug, title) values (1, 2, 'food', 'Food');
      insert into product_category values (1, 1);
      insert into customer (tenant_id, marketing_opted) select 2, n % 2 = 0 from generate_series(1, 20) n;
      insert into purchased_voucher (tenant_id, reference, currency, current_balance)
      select 1 + n % 2, 'V-' || n, 'GBP', 50 from generate_series(1, 50) n`)
    .simple()
  let steps = 0
  for (let more: boolean | null = true; more; steps++) {
    const interrupted = platform.begin('isolation level repeatable read', async sql => {
      await sql`select gateway.make_step(10)`
      throw new Error('killed')
    })
    await expect(interrupted).rejects.toThrow('killed')
    await platform`insert into purchased_voucher (tenant_id, reference) values (2, ${`NEW-${steps}`})`
    await platform`update purchased_voucher set current_balance = ${steps} where reference in ('V-1', 'V-50')`
    await platform`delete from purchased_voucher where reference = ${`V-${10 + steps}`}`
    more = await makeStep(pool, 10)
  }
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await checkFigures(pool)).toEqual({ asOf: expect.any(String), differences: [] })
  const missing =
    await platform`select name from gateway.record_indexes() where to_regclass('gateway.' || name) is null`
  expect(missing).toEqual([])
  expect(await readStepState(pool)).toMatchObject({ secondsSinceStep: expect.any(Number), waiting: 0, rejected: 0 })
})

test('the fill waits while a mapping does not fit its source, and reports the mapping', async () => {
  const { owner } = await createEmptyDatabase()
  await migrate(owner)
  await owner`alter table purchased_voucher rename reference to number`
  for (let more: boolean | null = true; more; ) more = await makeStep(owner)
  expect(await readStepState(owner)).toMatchObject({
    secondsSinceStep: null,
    reasons: [{ code: 'MAPPING_BROKEN', message: expect.stringMatching(/\breference"? does not exist/) }],
  })
  await owner`alter table purchased_voucher rename number to reference`
  for (let more: boolean | null = true; more; ) more = await makeStep(owner)
  expect(await readStepState(owner)).toMatchObject({ secondsSinceStep: expect.any(Number), reasons: [] })
  expect(await findRecordProblems(owner)).toEqual([])
})
