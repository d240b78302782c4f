import { expect, onTestFinished, test } from 'vitest'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { openRecordPool } from '../../src/db/record-pool.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

test('a statement that fails on a standby runs at the primary', async () => {
  const [primary, copy] = [await createDatabase(), await createDatabase()]
  const [step] = await primary.pool<{ epoch: number }[]>`select epoch from gateway.sync_state`
  // A database that takes no writes and shows all steps, as a standby does that has not replayed the latest command.
  await copy.platform.unsafe(`
    update gateway.sync_state set epoch = ${step!.epoch};
    insert into gateway.step select (jsonb_populate_record(step, '{"stamp": "9999-01-01 00:00Z"}')).* from gateway.step
    order by stamp desc limit 1;
    alter database ${copy.address.database} set default_transaction_read_only = on`)
  const options = { max: 1, statementTimeoutMs: 4_000, role: serviceRole, readsOnly: true }
  const pools = { pool: connect(copy.address, options), probe: connect(copy.address, options) }
  const { recordPool, states, close } = openRecordPool(primary.pool, [pools], () => {})
  onTestFinished(async () => {
    close()
    await Promise.all([pools.pool, pools.probe].map(each => each.end({ timeout: 1 })))
  })
  await until('the standby is used', () => Promise.resolve(states()[0]?.problem === null))
  const records = recordPool.whileWanted(() => true)
  expect(await records`select current_database() as name`).toEqual([{ name: copy.address.database }])
  await primary.platform`create function gateway.latest() returns name return current_database()`
  expect(await records`select gateway.latest() as name`).toEqual([{ name: primary.address.database }])
  expect(states()).toMatchObject([{ problem: null }])
  await expect(records`select gateway.none()`).rejects.toMatchObject({ code: '42883' })
})
