import type { Plan, Step } from './plan.ts'
import { large } from './seed.ts'

/** How many rows a step may pass along or sort; a batch of the audit as CSV has so many. */
const mostRows = 1_000

/** How many blocks a statement may touch, however few rows it finds in them: a large table has more. */
const mostBlocks = 1_000

const largeNames = Object.keys(large).map(name => name.replace('gateway.', ''))

const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)]

const rowsOf = (step: Step) =>
  Math.round((step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'])

/**
 * @param walks whether many rows may be passed along, if a condition on an index finds them
 * @returns what is wrong with a plan: it reads a large table, or much of one, or sorts much
 */
export function problemsOf({ name, text, root }: Plan, walks: boolean): string[] {
  const problems = stepsOf(root).flatMap(step => {
    const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition } = step
    const rows = rowsOf(step)
    if (type === 'Seq Scan') return table && largeNames.includes(table) ? [`reads all of ${table}`] : []
    if (/Sort$/.test(type)) return rows > mostRows ? [`sorts ${rows} rows`] : []
    if (!index || rows <= mostRows || (walks && condition)) return []
    return [`passes along ${rows} rows of ${index}`]
  })
  const blocks = root['Shared Hit Blocks'] + root['Shared Read Blocks']
  if (blocks > mostBlocks && !walks) problems.push(`touches ${blocks} blocks`)
  return problems.map(fault => `${name ?? text} ${fault}`)
}
