import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { openRecordPool } from '../../src/db/record-pool.ts'
import { createDatabase } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

/** Starts a primary, and a database beside it that takes no writes and shows the same step, as a standby does. */
async function startStandby() {
  const [primary, copy] = [await createDatabase(), await createDatabase()]
  const { host, port, user, database } = copy.address
  const [step] = await primary.pool<{ epoch: number; stamp: string }[]>`
    select epoch, (select max(stamp) from gateway.step) as stamp from gateway.sync_state`
  await copy.platform.unsafe(`
    update gateway.sync_state set epoch = ${step!.epoch};
    insert into gateway.step select (jsonb_populate_record(step, '{"stamp": "${step!.stamp}"}')).* from gateway.step
    order by stamp desc limit 1 on conflict do nothing;
    alter database ${database} set default_transaction_read_only = on`)
  const proxy = await startProxy(() => `${host}/.s.PGSQL.${port}`)
  const address = `postgres://${user}@127.0.0.1:${proxy.port}/${database}?sslmode=prefer`
  const options = { max: 1, statementTimeoutMs: 4_000, role: serviceRole, readsOnly: true }
  const [pool, probe] = [connect(address, options), connect(address, { ...options, answerTimeoutMs: 500 })]
  const { recordPool, states, close } = openRecordPool(primary.pool, [{ pool, probe }], () => {})
  onTestFinished(async () => {
    close()
    proxy.stop()
    await Promise.all([pool, probe].map(each => each.end({ timeout: 1 })))
  })
  await until('the standby is used', () => states()[0]?.problem === null)
  const records = recordPool.whileWanted(() => true)
  expect(await records`select current_database() as name`).toEqual([{ name: database }])
  return { primary, pool, records, states, proxy }
}

test('a statement that fails on a standby runs at the primary', async () => {
  const { primary, records, states } = await startStandby()
  // The standby has not replayed this yet.
  await primary.platform`create function gateway.latest() returns name return current_database()`
  expect(await records`select gateway.latest() as name`).toEqual([{ name: primary.address.database }])
  expect(states()).toMatchObject([{ problem: null }])
  await expect(records`select gateway.none()`).rejects.toMatchObject({ code: '42883' })
})

test('a standby that freezes holds up no statement until it is connected again', async () => {
  const { primary, pool, records, proxy } = await startStandby()
  const read = () => records`select current_database() as name`
  proxy.silence()
  let isSent = false
  pool.options.debug = () => {
    isSent = true
  }
  const sent = read().execute()
  await until('it is sent', () => isSent)
  // The standby does not show it: the next statement looks whether it does.
  await primary.platform`
    insert into gateway.step select (jsonb_populate_record(step, '{"stamp": "9999-01-01 00:00Z"}')).* from gateway.step
    order by stamp desc limit 1`
  const answers = Promise.all([sent, read()])
  const atPrimary = [{ name: primary.address.database }]
  expect(await Promise.race([answers, pause(3_000, 'late')])).toEqual([atPrimary, atPrimary])
})
