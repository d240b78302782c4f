import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connect, type Pool } from '../../src/db/connect.ts'
import { createDatabase } from '../support/database.ts'

const { address, platform } = await createDatabase()

// What src/db/patches is for.
test.each([
  ['fails', sql => sql`select 1 / (5000 - i) from generate_series(1, 5000) i`],
  [
    'ends its connection',
    sql => sql`
      select case i when 5000 then pg_terminate_backend(pg_backend_pid()) end, repeat('-', 100)
      from generate_series(1, 10000) i`,
  ],
] satisfies [
  string,
  (sql: Pool) => Promise<unknown>,
][])('what is answered after a statement that %s in the midst of its rows is answered whole', async (_, statement) => {
  const pool = connect(address, { max: 1, statementTimeoutMs: 5_000 })
  await expect(statement(pool)).rejects.toThrow()
  expect(await pool`select i from generate_series(1, 2) i`).toEqual([{ i: 1 }, { i: 2 }])
  await pool.end()
})

test('a connection that is ended while statements wait for it serves again', async () => {
  const pool = connect(address, { max: 1, statementTimeoutMs: 5_000 })
  for (let time = 0; time < 20; time++) {
    const [row] = await pool<{ pid: number }[]>`select pg_backend_pid() as pid`
    let [waiting, failed] = [0, 0]
    const asking = (async () => {
      // In each turn, so that some wait to be sent when the end is seen, and some have come since.
      while (failed === 0) {
        if (waiting < 50) {
          waiting++
          pool`select 1`.then(() => waiting--).catch(() => failed++)
        }
        await turn()
      }
    })()
    await platform`select pg_terminate_backend(${row?.pid ?? 0}::int)`
    await asking
    const ask = () => pool`select 1 as one`.catch((error: NodeJS.ErrnoException) => error.code)
    let answer = await ask()
    // That is the old one still.
    while (answer === 'CONNECTION_CLOSED') answer = await ask()
    expect(answer).toEqual([{ one: 1 }])
  }
  await pool.end()
})

test('the driver does not keep a place for each statement that was', async () => {
  const pool = connect(address, { max: 2, statementTimeoutMs: 5_000 })
  // Both are open now, and one of them is free at any time.
  await Promise.all([pool`select pg_sleep(0.1)`, pool`select pg_sleep(0.1)`])
  const { indexOf } = Array.prototype
  let longest = 0
  Array.prototype.indexOf = function (...sought) {
    longest = Math.max(longest, this.length)
    return indexOf.apply(this, sought)
  }
  try {
    for (let time = 0; time < 1000; time++) await pool`select 1`
  } finally {
    Array.prototype.indexOf = indexOf
  }
  expect(longest).toBeGreaterThan(0)
  expect(longest).toBeLessThan(100)
  await pool.end()
})
