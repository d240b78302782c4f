import { type Plan, rowsOf, stepsOf } from './plan.ts'
import { large } from './seed.ts'

/** The maximum number of rows that a step may read or sort: the batch size of the audit's CSV. */
const usualRows = 1_000

/**
 * The number of blocks that a statement may read per allowed row, even when it finds few rows. A large table has more
 * blocks.
 */
const blocksOfRow = 1

const largeNames = large.map(name => name.replace('gateway.', ''))

/**
 * @param walks true when the plan may read many rows that a condition on an index finds
 * @param mostRows the maximum number of rows that a step may read or sort
 * @returns one text per problem: the plan reads all or much of a large table, or sorts many rows
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
  // The blocks of a statement that only calls functions are not checked: they are of the catalog, read to plan the
  // statements inside the functions. The plans of these statements are checked separately.
  const readsTable = steps.some(step => step['Relation Name'] || step['Index Name'])
  const blocks = root['Shared Hit Blocks'] + root['Shared Read Blocks']
  if (readsTable && blocks > mostRows * blocksOfRow && !walks) problems.push(`reads ${blocks} blocks`)
  return problems.map(problem => `${name ?? text} ${problem}`)
}
