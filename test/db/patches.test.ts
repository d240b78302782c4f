import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket, connect as toSocket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect, type Pool } from '../../src/db/connect.ts'
import { isOutage } from '../../src/db/outage.ts'
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

test('a statement whose plan has ended fails alone, and is planned anew', async () => {
  await platform`create table planned (id integer)`
  await platform`insert into planned values (1)`
  const pool = connect(address, { max: 1, statementTimeoutMs: 5_000 })
  const planned = (id: number) => pool`select * from planned where id = ${id}`
  await planned(1)
  await platform`alter table planned add column flag boolean default true`
  const [refused, ...others] = await Promise.allSettled([
    planned(1),
    ...[1, 2, 3].map(n => pool`select ${n}::text as n`),
  ])
  expect(refused).toMatchObject({ status: 'rejected', reason: expect.toSatisfy(isOutage) })
  expect(others).toMatchObject([1, 2, 3].map(n => ({ status: 'fulfilled', value: [{ n: String(n) }] })))
  expect(await planned(1)).toEqual([{ id: 1, flag: true }])
  // As behind a pooler that gives the next statement to another connection.
  await pool`deallocate all`
  await expect(planned(1)).rejects.toSatisfy(isOutage)
  expect(await planned(1)).toEqual([{ id: 1, flag: true }])
  await pool.end()
})

test('a statement that cannot be sent fails alone', async () => {
  const pool = connect(address, { max: 1, statementTimeoutMs: 5_000 })
  const unsendable = () => pool`select ${undefined as never}`
  // The first of its connection, then one behind another, then one on a connection that is free.
  await expect(unsendable()).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
  const before = pool`select 'mine' as whose from pg_sleep(0.1)`.then(rows => rows)
  await expect(unsendable()).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
  expect(await before).toEqual([{ whose: 'mine' }])
  await expect(unsendable()).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
  expect(await pool`select 'next' as whose`).toEqual([{ whose: 'next' }])
  await pool.end()
})

/** Stands before the database, as a proxy does. @returns a pool of one connection through it, and how many it saw */
async function behind(answer: (client: Socket, number: number) => void) {
  let seen = 0
  const proxy = createServer(client => {
    client.on('error', () => {})
    answer(client, ++seen)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.close()
  })
  const { port } = proxy.address() as AddressInfo
  const pool = connect({ ...address, host: '127.0.0.1', port }, { max: 1, statementTimeoutMs: 5_000 })
  return { pool, seen: () => seen }
}

test('a connection that is closed before it is one is not tried for ever', async () => {
  const { pool, seen } = await behind(client => client.destroy())
  await expect(pool`select 1`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(seen()).toBe(1)
  await pool.end()
})

test('a connection that is refused in the place of one that was lost is not tried for ever', async () => {
  const { pool } = await behind((client, number) => {
    if (number === 2) {
      const fields = Buffer.from('SFATAL\0C57P03\0Mthe database system is starting up\0\0')
      const head = Buffer.from([0x45, 0, 0, 0, 4 + fields.length])
      client.once('data', () => client.end(Buffer.concat([head, fields])))
      return
    }
    const database = toSocket(`${address.host}/.s.PGSQL.${address.port}`)
    client.pipe(database).pipe(client)
    database.on('close', () => client.destroy()).on('error', () => {})
  })
  await expect(pool`select pg_terminate_backend(pg_backend_pid())`).rejects.toThrow()
  await expect(pool`select 1`).rejects.toMatchObject({ code: '57P03' })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  await pool.end()
})

test('the driver does not keep a place for each statement that was', async () => {
  const pool = connect(address, { max: 2, statementTimeoutMs: 5_000 })
  // Both are open now, and one of them is free at any time.
  await Promise.all([pool`select pg_sleep(0.1)`, pool`select pg_sleep(0.1)`])
  const { indexOf } = Array.prototype
  let longest = 0
  Array.prototype.indexOf = function (...sought) {
    // A connection of the driver has one.
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
  await pool.end()
})
