/** Each test fails without the patch of `tools/driver/patches` that it names. `socket.test.ts` tests the other patches. */
import { expect, test } from 'vitest'
import { connect } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'

const { address, platform } = await createDatabase()

const openPool = (max: number) => connect(address, { max, statementTimeoutMs: 5_000 })

// 05-count-rows-from-zero; the second case also needs 04-forget-failed-statement.
test.each([
  ['fails', '1 / (5000 - i)'],
  ['ends its connection', `case i when 5000 then pg_terminate_backend(pg_backend_pid()) end, repeat('-', 100)`],
])('the statement after one that %s in the middle of its rows returns its own rows', async (_, selected) => {
  const pool = openPool(1)
  await expect(pool.unsafe(`select ${selected} from generate_series(1, 10000) i`)).rejects.toThrow()
  expect(await pool`select i from generate_series(1, 2) i`).toEqual([{ i: 1 }, { i: 2 }])
})

// 07-keep-parameters.
test('a statement that is prepared again keeps its parameters', async () => {
  await platform`create table planned (id integer, flag boolean)`
  await platform`insert into planned values (1, true), (2, false)`
  const pool = openPool(1)
  const planned = (flag: boolean) => pool`select * from planned where flag = ${flag}`
  expect(await planned(true)).toEqual([{ id: 1, flag: true }])
  await platform`alter table planned add column note text`
  expect(await planned(true)).toEqual([{ id: 1, flag: true, note: null }])
  // Simulates a pooler that sends the next statement to another connection of the server.
  await pool`deallocate all`
  const others = [1, 2, 3].map(n => pool`select ${n}::text as n`)
  expect(await planned(false)).toEqual([{ id: 2, flag: false, note: null }])
  expect(await Promise.all(others)).toEqual([1, 2, 3].map(n => [{ n: String(n) }]))
})

// 09-stop-after-unsendable.
test('statements that cannot be sent fail alone, and other statements on their connection succeed', async () => {
  const pool = openPool(1)
  const unsendable = () => pool`select ${undefined as never}`
  // The statement is sent on a new connection, then behind another statement, and then on an idle connection.
  await expect(unsendable()).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
  const before = pool`select 'before' as sent from pg_sleep(0.1)`.then(rows => rows)
  await expect(unsendable()).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
  expect(await before).toEqual([{ sent: 'before' }])
  await expect(unsendable()).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
  expect(await pool`select 'after' as sent`).toEqual([{ sent: 'after' }])
})

// 01-run-onexecute.
test('a transaction keeps its connection, and no statement is queued while a connection is free', async () => {
  const pool = openPool(2)
  await Promise.all([pool`select pg_sleep(0.1)`, pool`select pg_sleep(0.1)`])
  const order: string[] = []
  const blocker = openPool(1)
  await blocker`select pg_advisory_lock(77)`
  const asleep = pool`select pg_advisory_xact_lock(77)`.then(() => order.push('asleep'))
  await pool.begin(async transaction => {
    const [first] = await transaction`select pg_backend_pid() as pid, txid_current() as transaction`
    const [second] = await transaction`select pg_backend_pid() as pid, txid_current() as transaction`
    expect(second).toEqual(first)
  })
  const waiting = Array.from({ length: 50 }, (_, i) => pool`select ${i}::int`.then(() => order.push(String(i))))
  await Promise.all(waiting)
  await blocker`select pg_advisory_unlock_all()`
  await asleep
  expect(order).toEqual([...Array(50).keys(), 'asleep'].map(String))
})

// 06-resume-after-copy.
test('a connection serves again after rows were copied and its buffer was full', async () => {
  const pool = openPool(1)
  for (const rows of [1, 500, 5_000, 50_000]) {
    const copied =
      await pool`copy (select repeat('x', 100) from generate_series(1, ${pool.unsafe(String(rows))})) to stdout`.readable()
    let bytes = 0
    for await (const chunk of copied) {
      bytes += (chunk as Buffer).length
      // A slow reader.
      await new Promise(setImmediate)
    }
    expect(bytes).toBe(rows * 101)
    expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  }
})

// 10-shorten-queue.
test('the list of free connections does not grow with each statement', async () => {
  const pool = openPool(2)
  // Both connections are open now, and at least one of them is always free.
  await Promise.all([pool`select pg_sleep(0.1)`, pool`select pg_sleep(0.1)`])
  const { indexOf } = Array.prototype
  let longest = 0
  Array.prototype.indexOf = function (...sought) {
    // Only a connection of the driver has an `idleTimer`.
    if (Object(sought[0]).idleTimer) longest = Math.max(longest, this.length)
    return indexOf.apply(this, sought)
  }
  try {
    for (let time = 0; time < 1000; time++) await pool`select 1`
  } finally {
    Array.prototype.indexOf = indexOf
  }
  expect(longest).toBeGreaterThan(0)
  expect(longest).toBeLessThan(100)
})
