/** Tests how statements share the connections of a pool, against a real server. */
import { expect, onTestFinished, test } from 'vitest'
import { isOutage } from '../../src/db/connection/outage.ts'
import { arrayText, type Sql } from '../../src/db/sql.ts'
import { shareStatements } from '../../src/db/statement/shared-statement.ts'
import { CallerGoneError } from '../../src/db/statement/statement.ts'
import { connect } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { untilLockWaits } from '../support/locks.ts'

const { address, platform, pool } = await createDatabase()
await platform`create table locked (id bigint)`
await platform`create table free (id bigint)`
await platform`create sequence runs`
const watcher = connect(address, { max: 1, statementTimeoutMs: 10_000 })

const openPool = (max = 10, waitTimeoutMs = 4_500) => {
  const pool = connect(address, { max, statementTimeoutMs: 20_000, waitTimeoutMs })
  onTestFinished(() => pool.end({ timeout: 1 }))
  return pool
}

/** Locks the table. @returns a function that unlocks it */
async function lockTable(): Promise<() => Promise<void>> {
  const holder = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  await holder.unsafe('begin; lock table locked').simple()
  const unlock = () => holder.end()
  onTestFinished(unlock)
  return unlock
}

const readLockedTable = (sql: Sql) => sql`select /* locked.read */ count(*)::integer as count from locked`
const countRun = (sql: Sql) => sql`select /* locked.run */ nextval('runs') from (select count(*) from locked) as one`
const readFreeTable = (sql: Sql) => sql`select /* free.read */ count(*)::integer as count from free`
const settle = (statements: PromiseLike<unknown>[]) => Promise.allSettled(statements)
const repeat = <Result>(count: number, work: () => Result) => Array.from({ length: count }, work)

/**
 * Runs `work` while 30 statements wait for the locked table. The statements must succeed after the table is unlocked.
 */
async function whileBlocked(sql: Sql, work: () => Promise<unknown>): Promise<void> {
  const unlock = await lockTable()
  const settled = settle(repeat(30, () => readLockedTable(sql)))
  await untilLockWaits(watcher)
  await work()
  await unlock()
  for (const { status } of await settled) expect(status).toBe('fulfilled')
}

const readRunCount = async () => (await watcher`select last_value * is_called::integer as last from runs`)[0]?.last

test.each([
  2, 3, 10,
])('statements that wait for a locked table leave some of %i connections to other statements', async max => {
  const pool = openPool(max)
  // Opens all connections first, because a statement on a new connection would count as slow.
  await Promise.all(repeat(max, () => pool.unsafe('select pg_sleep(0.2)')))
  await whileBlocked(pool, async () => {
    for (let round = 0; round < 20; round++) await Promise.all(repeat(10, () => readFreeTable(pool)))
  })
})

test('statements of one noun use at most half of the connections, and other statements use the rest', async () => {
  const pool = openPool(10)
  const unlock = await lockTable()
  const settled = settle(repeat(30, () => readLockedTable(pool)))
  await untilLockWaits(watcher, 5)
  const others = settle(repeat(30, () => pool`select /* other.read */ count(*) from locked`))
  await untilLockWaits(watcher, 8)
  await readFreeTable(pool)
  const waiting = await watcher`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  expect(waiting).toHaveLength(8)
  await unlock()
  for (const { status } of [...(await settled), ...(await others)]) expect(status).toBe('fulfilled')
})

test('expensive statements have separate connections, and each caller leaves one of these connections to other callers', async () => {
  const pool = openPool(1)
  const [one, two] = [pool.expensive(() => true, 1), pool.expensive(() => true, 2)]
  await whileBlocked(one, () =>
    Promise.all([...repeat(10, () => readFreeTable(two)), ...repeat(10, () => readFreeTable(pool))]),
  )
})

test('callers take turns, whatever the number of their statements', async () => {
  const pool = openPool(1)
  await lockTable()
  // This statement takes one of the two expensive connections, so one is left.
  const held = settle([readLockedTable(pool.expensive(() => true, 1))])
  await untilLockWaits(watcher)
  const ended: number[] = []
  const run = (caller: number, count: number) =>
    repeat(count, () => readFreeTable(pool.expensive(() => true, caller)).then(() => ended.push(caller)))
  await Promise.all([...run(2, 5), ...run(3, 1), ...run(4, 2)])
  expect(ended).toEqual([2, 2, 3, 4, 2, 4, 2, 2])
  await pool.end({ timeout: 0 })
  await held
})

test('a statement that has waited too long fails with the error of an outage, and is never sent', async () => {
  const pool = openPool(2, 300)
  const unlock = await lockTable()
  const before = await readRunCount()
  const statements = repeat(10, () => countRun(pool))
  const late = await Promise.race(statements.map(statement => statement.catch((error: unknown) => error)))
  expect(isOutage(late)).toBe(true)
  expect(late).toMatchObject({ code: 'STATEMENT_NOT_SENT', query: '/* locked.run */' })
  await unlock()
  const sent = (await settle(statements)).filter(({ status }) => status === 'fulfilled').length
  expect(sent).toBeLessThan(3)
  expect(await readRunCount()).toBe(before + sent)
})

test('a statement is not sent when its caller has disconnected, even when a connection is free', async () => {
  const pool = openPool(2)
  const unlock = await lockTable()
  const before = await readRunCount()
  const held = settle(repeat(2, () => readLockedTable(pool)))
  await untilLockWaits(watcher, 1)
  let isWanted = true
  const abandoned = settle(repeat(5, () => countRun(pool.whileWanted(() => isWanted))))
  const wanted = countRun(pool).execute()
  isWanted = false
  for (const outcome of await abandoned) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STATEMENT_NOT_SENT' } })
  }
  await unlock()
  await Promise.all([held, wanted])
  expect(await settle([countRun(pool.whileWanted(() => isWanted))])).toMatchObject([{ status: 'rejected' }])
  expect(await readRunCount()).toBe(before + 1)
})

test('the process limits the number of waiting statements, and a pool that ends rejects all of them', async () => {
  const pool = openPool(1)
  await lockTable()
  const settled = repeat(300, () => readLockedTable(pool).catch((error: unknown) => error))
  const refused = await Promise.all(settled.slice(-99))
  await pool.end({ timeout: 0 })
  for (const error of [...refused, ...(await Promise.all(settled))]) expect(error).toSatisfy(isOutage)
})

test('a statement frees its place when it fails, when it cannot be sent, and when several templates build it', async () => {
  const pool = openPool(2)
  for (let round = 0; round < 20; round++) {
    const settled = await settle([
      pool`select /* same.name */ 1 / ${0}::integer`,
      pool`select /* same.name */ ${undefined as unknown as string}::text`,
      pool`select ${pool.unsafe('/* fragment.name */')} ${round}::integer as round`.raw(),
      pool.unsafe('select 1'),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  }
})

/** Creates a reader that computes 60 / number for each number, and records the numbers of each statement. */
function createRead(maxItems = 8) {
  const statements: (readonly number[])[] = []
  const read = async (sql: Sql, numbers: readonly number[]) => {
    statements.push(numbers)
    const rows = await sql<{ part: number }[]>`
      select /* test.divide */ 60 / number as part
      from unnest(${arrayText(numbers)}::text::bigint[]) with ordinality given(number, place) order by place`
    return rows.map(({ part }) => part)
  }
  return { statements, readOne: shareStatements(read, maxItems) }
}

test('items of one turn share a statement, up to the maximum number of items', async () => {
  const { statements, readOne } = createRead(3)
  const parts = await Promise.all([1, 2, 3, 4, 5].map(number => readOne(pool, pool, number)))
  expect(await readOne(pool, pool, 6)).toBe(10)
  expect([parts, statements]).toEqual([
    [60, 30, 20, 15, 12],
    [[1, 2, 3], [4, 5], [6]],
  ])
})

test('when one item makes a statement fail, the other items still get their results', async () => {
  const { statements, readOne } = createRead()
  const parts = [1, 0, 2].map(number => readOne(pool, pool, number).catch(({ code }) => code))
  expect(await Promise.all(parts)).toEqual([60, '22012', 30])
  expect(statements).toEqual([[1, 0, 2], [1], [0], [2]])
})

test('a caller that disconnects does not cancel a statement that it shares with other callers', async () => {
  const queued = openPool(2, 1_000)
  const { readOne } = createRead()
  const gone = queued.whileWanted(() => false)
  const [left, stays] = await Promise.allSettled([readOne(queued, gone, 1), readOne(queued, queued, 2)])
  expect(left).toMatchObject({ status: 'rejected', reason: expect.any(CallerGoneError) })
  expect(stays).toEqual({ status: 'fulfilled', value: 30 })
})

test('pools share no statement', async () => {
  const { statements, readOne } = createRead()
  const other = openPool()
  await Promise.all([readOne(pool, pool, 1), readOne(other, other, 2)])
  expect(statements).toEqual([[1], [2]])
})
