import { expect, test } from 'vitest'
import { connect } from '../../src/db/connection/connect.ts'
import { arrayText, type Sql } from '../../src/db/sql.ts'
import { shareStatements } from '../../src/db/statement/shared-statement.ts'
import { CallerGoneError } from '../../src/db/statement/statement.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'

const { pool, address } = await createDatabase()
const { pool: otherPool } = await createDatabase()

/** Reads 60 / number for each number, and records the numbers of each statement. */
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

test('items of one turn share a statement, up to the most items', async () => {
  const { statements, readOne } = createRead(3)
  const parts = await Promise.all([1, 2, 3, 4, 5].map(number => readOne(pool, pool, number)))
  expect(await readOne(pool, pool, 6)).toBe(10)
  expect([parts, statements]).toEqual([
    [60, 30, 20, 15, 12],
    [[1, 2, 3], [4, 5], [6]],
  ])
})

test('an item whose statement fails leaves the others their results', async () => {
  const { statements, readOne } = createRead()
  const parts = [1, 0, 2].map(number => readOne(pool, pool, number).catch(({ code }) => code))
  expect(await Promise.all(parts)).toEqual([60, '22012', 30])
  expect(statements).toEqual([[1, 0, 2], [1], [0], [2]])
})

test('a caller that disconnects does not cancel the statement of the others', async () => {
  const queued = connect(address, { max: 2, statementTimeoutMs: 1_000, waitTimeoutMs: 1_000 })
  afterFile(() => queued.end({ timeout: 1 }))
  const { readOne } = createRead()
  const gone = queued.whileWanted(() => false)
  const [left, stays] = await Promise.allSettled([readOne(queued, gone, 1), readOne(queued, queued, 2)])
  expect(left).toMatchObject({ status: 'rejected', reason: expect.any(CallerGoneError) })
  expect(stays).toEqual({ status: 'fulfilled', value: 30 })
})

test('pools share no statement', async () => {
  const { statements, readOne } = createRead()
  await Promise.all([readOne(pool, pool, 1), readOne(otherPool, otherPool, 2)])
  expect(statements).toEqual([[1], [2]])
})
