/** The goals of a benchmark, with the limits that end it with the exit code 1. */
import { median, table } from './report.ts'

/** The most, or the least, that a figure should be. */
export type Goal = `${'≤' | '≥'} ${number}`

/** A figure with a goal. */
export interface Judged {
  name: string
  goal: Goal
  unit?: string
  /** One value for each round. A ratio is between the two values of one round. */
  values: readonly number[]
}

/** A limit is this many times the goal: a busy machine misses a goal that an idle one reaches. */
const allowance = 1.25

/**
 * Compares the median of each figure with its limit. When one is beyond it, the process ends with the exit code 1.
 *
 * @returns a table of all figures, and a sentence that names the figures beyond their limits
 */
export function judge(figures: readonly Judged[]): string {
  const missed: string[] = []
  const rows = figures.map(({ name, goal, unit = '', values }) => {
    const [sign, number] = goal.split(' ')
    const isMost = sign === '≤'
    const limit = isMost ? Number(number) * allowance : Number(number) / allowance
    const result = median(values)
    // NaN is beyond any limit.
    const isWithin = isMost ? result <= limit : result >= limit
    if (!isWithin) missed.push(name)
    return [name, `${goal} ${unit}`, `${sign} ${show(limit)}`, show(result), isWithin ? '' : 'beyond the limit']
  })
  if (missed.length > 0) process.exitCode = 1
  const sentence = missed.length > 0 ? `Beyond their limits: ${missed.join('; ')}.` : 'All are within their limits.'
  return `${table(['', 'goal', 'limit', 'median', ''], rows)}\n\n${sentence}`
}

/** Returns three significant digits. */
const show = (value: number) => String(Number(value.toPrecision(3)))
