#!/usr/bin/env node
import { findFileLimitProblem } from './process-limits.ts'
import { describeReason } from './reasons.ts'

const problem = findFileLimitProblem()
// Imported after the check of the file limit, because Node opens the files of many modules at the same time.
if (problem === null) await import('./cli/program.ts')
else {
  console.error(describeReason(problem))
  process.exitCode = 1
}
