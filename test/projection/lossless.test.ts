/** Steps lose no change: with a clock that was set back, a table that is rewritten, a full disk. */
import { beforeEach, expect, test } from 'vitest'
import { findRecordProblems } from '../../src/projection/check.ts'
import { makeStep } from '../../src/projection/step.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'

const database = await createDatabase()
const { pool, platform } = database
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
