import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openRecordPool } from '../../src/db/standby/record-pool.ts'
import type { StandbyState } from '../../src/db/standby/standby.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

/** Creates a primary, and a second read-only database with the same last step, which acts as a standby. */
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
  const options = { max: 1, statementTimeoutMs: 0, role: serviceRole, readsOnly: true }
  const [pool, probe] = [connect(address, options), connect(address, { ...options, answerTimeoutMs: 500 })]
  const reported: StandbyState['problem'][] = []
  const { recordPool, states, close } = openRecordPool(primary.pool, [{ pool, probe }], ({ problem }) =>
    reported.push(problem),
  )
  onTestFinished(async () => {
    close()
    proxy.stop()
    await Promise.all([pool, probe].map(each => each.end({ timeout: 1 })))
  })
  await until('the standby is used', () => states()[0]?.problem === null)
  const records = recordPool.whileWanted(() => true)
  expect(await records`select current_database() as name`).toEqual([{ name: database }])
  return { primary, copy, pool, probe, records, states, reported, proxy }
}

/** SQL that inserts a step that is later than all other steps. */
const lateStep = `
  insert into gateway.step select (jsonb_populate_record(step, '{"stamp": "9999-01-01 00:00Z"}')).* from gateway.step
  order by stamp desc limit 1`

test('a statement that fails on a standby runs again at the primary', async () => {
  const { primary, records, states } = await startStandby()
  // This function exists only at the primary, as if the standby had not yet replayed its creation.
  await primary.platform`create function gateway.latest() returns name return current_database()`
  expect(await records`select gateway.latest() as name`).toEqual([{ name: primary.address.database }])
  expect(states()).toMatchObject([{ problem: null }])
  await expect(records`select gateway.none()`).rejects.toMatchObject({ code: '42883' })
})

test('a standby that stops answering delays no statement', async () => {
  const { primary, pool, records, proxy } = await startStandby()
  const read = () => records`select current_database() as name`
  proxy.silence()
  let isSent = false
  pool.options.debug = () => {
    isSent = true
  }
  const sent = read().execute()
  await until('it is sent', () => isSent)
  // Only the primary has this step, so the next statement must check the standby.
  await primary.platform.unsafe(lateStep)
  const atPrimary = [{ name: primary.address.database }]
  expect(await Promise.race([Promise.all([sent, read()]), pause(3_000, 'late')])).toEqual([atPrimary, atPrimary])
})

test('a statement that waits for a lock at a standby runs again at the primary', async () => {
  const { primary, copy, records } = await startStandby()
  await copy.platform.begin('read write', async holder => {
    await holder`lock table gateway.customer`
    const found = records`select current_database() as name from (select count(*) from gateway.customer) customers`
    expect(await found).toEqual([{ name: primary.address.database }])
  })
})

test('a standby that was late is used again after three good checks, and only a lasting change is reported', {
  // On a busy machine a short change may last long enough to be reported.
  retry: 1,
}, async () => {
  const { primary, copy, probe, states, reported, proxy } = await startStandby()
  await until('its use is reported', () => reported.length > 0)
  await primary.platform.unsafe(lateStep)
  await until('it is late', () => states()[0]?.problem === 'STANDBY_LATE')
  await copy.platform.begin('read write', writer => writer.unsafe(lateStep))
  let looks = 0
  probe.options.debug = () => {
    looks++
  }
  await until('it is used again', () => states()[0]?.problem === null)
  expect(looks).toBeGreaterThanOrEqual(3)
  proxy.silence()
  await until('that it is away is reported', () => reported.length > 1)
  expect(reported).toEqual([null, 'STANDBY_UNREACHABLE'])
})
