import { type Plan, rowsOf, stepsOf } from './plan.ts'
import { large } from './seed.ts'

/** The rows that a step may read or sort: the size of a batch of the audit as CSV. */
const usualRows = 1_000

/** The blocks that a statement may read for each of these rows, even when it finds few: a large table has more. */
const blocksOfRow = 1

const largeNames = large.map(name => name.replace('gateway.', ''))

/**
 * @param walks true: the plan may read many rows that a condition on an index finds
 * @param mostRows how many rows a step may read or sort
 * @returns the problems of a plan: it reads all or much of a large table, or sorts many rows
 */
export function problemsOf({ name, text, root }: Plan, walks: boolean, mostRows = usualRows): string[] {
  const steps = stepsOf(root)
  const problems = steps.flatMap(step => {
    const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition } = step
    const rows = rowsOf(step)
    if (type === 'Seq Scan') return table && largeNames.includes(table) ? [`reads all of ${table}`] : []
    if (/Sort$/.test(type)) return rows > mostRows ? [`sorts ${rows} rows`] : []
    if (!index || rows <= mostRows || (walks && condition)) return []
    return [`reads ${rows} rows of ${index}`]
  })
  // A statement that only calls functions reads the catalog when their statements are planned; these are checked by themselves.
  const readsTable = steps.some(step => step['Relation Name'] || step['Index Name'])
  const blocks = root['Shared Hit Blocks'] + root['Shared Read Blocks']
  if (readsTable && blocks > mostRows * blocksOfRow && !walks) problems.push(`reads ${blocks} blocks`)
  return problems.map(problem => `${name ?? text} ${problem}`)
}
