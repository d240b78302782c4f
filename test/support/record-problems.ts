import type { Sql } from '../../src/db/sql.ts'
import { findRecordProblems as find, type RecordProblem } from '../../src/projection/check.ts'
import { readStepState } from '../../src/projection/step-state.ts'

/**
 * Compares all records with their sources. The comparison leaves out keys that wait, so it would agree with steps that stand still.
 *
 * @param repairs true: notes the keys that differ, so that a step writes them again
 * @throws an Error when changes wait
 */
export async function findRecordProblems(sql: Sql, repairs = false): Promise<RecordProblem[]> {
  const { waiting } = await readStepState(sql)
  if (waiting > 0) throw new Error(`${waiting} changes wait for a step.`)
  return find(sql, repairs)
}
