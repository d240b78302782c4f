import { expect, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { createWatermarkWatch, type WatermarkHolder } from '../../src/domain/sync/watermark-holder.ts'
import { createDatabase } from '../support/database.ts'

const { pool, platform, address } = await createDatabase()
const insert = "insert into tenant (name) values ('held')"

/** Creates a watch with a clock of its own, and what it reports. */
function createWatch() {
  const held: WatermarkHolder[] = []
  let released = 0
  const clock = { now: 0 }
  const report = { onHeld: (holder: WatermarkHolder) => held.push(holder), onReleased: () => released++ }
  const check = createWatermarkWatch(pool, report, { behind: 50, repeat: 60_000 }, () => clock.now)
  return { check, clock, held, released: () => released }
}

test('a prepared transaction that holds the watermark is named, once a minute, until it has ended', async () => {
  const { check, clock, held, released } = createWatch()
  await check()
  expect(held).toEqual([])
  const writer = connect(address, { max: 1, statementTimeoutMs: 10_000 })
  await writer.unsafe(`begin; ${insert}; prepare transaction 'order 17'`).simple()
  await writer.end()
  await expect.poll(() => check().then(() => held.length)).toBe(1)
  expect(held[0]).toMatchObject({ gid: 'order 17', pid: null, login: address.user })
  clock.now += 59_000
  await check()
  expect(held).toHaveLength(1)
  clock.now += 2_000
  await check()
  expect(held).toHaveLength(2)
  expect(released()).toBe(0)
  await platform`rollback prepared 'order 17'`
  await check()
  await check()
  expect(released()).toBe(1)
})

test('a backend that holds the watermark is named with its login, its application and its state', async () => {
  const { check, held, released } = createWatch()
  const writer = connect(address, { max: 1, statementTimeoutMs: 10_000 })
  await writer.unsafe(`begin; set application_name = 'loader'; ${insert}; set constraints all immediate`).simple()
  const [own] = await writer<{ pid: number }[]>`select pg_backend_pid() as pid`
  await expect.poll(() => check().then(() => held.length)).toBe(1)
  expect(held[0]).toMatchObject({
    gid: null,
    pid: own?.pid,
    login: address.user,
    application: 'loader',
    state: 'idle in transaction',
  })
  await writer.end()
  await check()
  expect(released()).toBe(1)
})

test('a transaction that is open and holds nothing is not named', async () => {
  const { check, held } = createWatch()
  const writer = connect(address, { max: 1, statementTimeoutMs: 10_000 })
  await writer.unsafe(`begin; ${insert}; select pg_sleep(0.1)`).simple()
  await check()
  await writer.end()
  expect(held).toEqual([])
})
