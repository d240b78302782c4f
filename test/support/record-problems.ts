import { expect } from 'vitest'
import type { Pool, Sql } from '../../src/db/sql.ts'
import { findRecordProblems as find, type RecordProblem } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { projected } from './projected.ts'

/**
 * Compares all records with their sources. Fails when changes wait, because the comparison leaves out their keys, and
 * so would not detect steps that stand still.
 *
 * @param repairs true to note the keys that differ, so that a step writes their records again
 * @throws an Error when changes wait
 */
export async function findRecordProblems(sql: Sql, repairs = false): Promise<RecordProblem[]> {
  const { waiting } = await readStepState(sql)
  if (waiting > 0) throw new Error(`${waiting} changes wait for a step.`)
  return find(sql, repairs)
}

/** Runs the steps, and expects all records to equal their sources. */
export async function expectProjected(sql: Pool): Promise<void> {
  await projected(sql)
  expect(await findRecordProblems(sql)).toEqual([])
}
