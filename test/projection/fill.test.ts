/** The first fill: records, indexes and figures are written in steps, while writers write, and after each interruption. */
import { expect, test } from 'vitest'
import { migrate } from '../../src/db/migration/migrate.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { findRecordProblems } from '../support/record-problems.ts'

const { address, owner: platform } = await createEmptyDatabase()
const pool = connect(address, { max: 1, statementTimeoutMs: 60_000, role: serviceRole })
afterFile(() => pool.end({ timeout: 1 }))
await migrate(platform)

test('it is complete after interruptions and writes between its steps (I6, I8)', async () => {
  await platform`insert into tenant (id, parent_id, name) values (1, null, 'Group'), (2, 1, 'Shop')`
  await platform`insert into product (id, tenant_id, slug, title, currency) values (1, 2, 'tea', 'Tea', 'GBP')`
  await platform`insert into category (id, tenant_id, slug, title) values (1, 2, 'food', 'Food')`
  await platform`insert into product_category values (1, 1)`
  await platform`insert into customer (tenant_id, marketing_opted) select 2, n % 2 = 0 from generate_series(1, 20) n`
  await platform`
    insert into purchased_voucher (tenant_id, reference, currency, current_balance)
    select 1 + n % 2, 'V-' || n, 'GBP', 50 from generate_series(1, 50) n`

  let steps = 0
  for (let more: boolean | null = true; more; steps++) {
    const interrupted = platform.begin('isolation level repeatable read', async sql => {
      await sql`select gateway.make_step(10)`
      throw new Error('killed')
    })
    await expect(interrupted).rejects.toThrow('killed')
    await platform`
      insert into purchased_voucher (tenant_id, reference) values (2, ${`NEW-${steps}`})`
    await platform`update purchased_voucher set current_balance = ${steps} where reference in ('V-1', 'V-50')`
    await platform`delete from purchased_voucher where reference = ${`V-${10 + steps}`}`
    more = await makeStep(pool, 10)
  }
  const records = await pool`
    select id, reference, current_balance from gateway.voucher order by id`
  expect([...records]).toEqual([
    ...(await platform`
    select id, reference, current_balance from purchased_voucher order by id`),
  ])
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await checkFigures(pool)).toEqual({ asOf: expect.any(String), differences: [] })
  expect(
    await platform`select name from gateway.record_indexes() where to_regclass('gateway.' || name) is null`,
  ).toEqual([])
  expect(await readStepState(pool)).toMatchObject({ secondsSinceStep: expect.any(Number), waiting: 0, rejected: 0 })
})

test('it waits for a mapping that does not fit its source, and names it', async () => {
  const { owner } = await createEmptyDatabase()
  await migrate(owner)
  await owner`insert into tenant (name) values ('Shop')`
  await owner`insert into purchased_voucher (tenant_id, reference) values (1, 'A')`
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
