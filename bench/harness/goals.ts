/**
 * Statistics of measured figures, and their goals. A figure beyond its limit ends the benchmark with the exit code 1.
 */

/** @returns the value below which the given share of the values lies */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** @returns the median */
export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** @returns the ratio of two contenders' values in each round */
export const ratios = (values: readonly number[], bases: readonly number[]): number[] =>
  values.map((value, round) => value / bases[round]!)

/** @returns the median with the quartiles: `0.98 (0.95–1.02)` */
export function describeSpread(values: readonly number[], formatNumber = (value: number) => value.toFixed(2)): string {
  const [middle = '', lower, upper] = [0.5, 0.25, 0.75].map(share => formatNumber(quantile(values, share)))
  return values.length > 1 ? `${middle} (${lower}–${upper})` : middle
}

/** @returns a Markdown table */
export const table = (heads: string[], rows: string[][]): string =>
  [heads, heads.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')

/** The upper or the lower bound of a figure, with the unit if the figure is no ratio: `≤ 200 ms`. */
export type Goal = `${'≤' | '≥'} ${number}` | `${'≤' | '≥'} ${number} ${string}`

/**
 * A figure with a goal. It has one value per round; a ratio compares two values of the same round. `base` is the text
 * for the base of the ratios in the table.
 */
export type FigureWithGoal = [name: string, goal: Goal, values: readonly number[], base?: string]

/**
 * The limit of a figure is its goal multiplied by this number, because a busy machine misses a goal that an idle
 * machine reaches.
 */
const allowance = 1.25

/**
 * Compares the median of each figure with its limit. When a median is beyond its limit, the process ends with the exit
 * code 1.
 *
 * @returns a table of all figures, and a sentence that names the figures beyond their limits
 */
export function checkGoals(figures: readonly FigureWithGoal[]): string {
  const missed: string[] = []
  const rows = figures.map(([name, goal, values, base = '']) => {
    const [sign, number] = goal.split(' ')
    const isMost = sign === '≤'
    const limit = isMost ? Number(number) * allowance : Number(number) / allowance
    const result = median(values)
    // NaN is beyond any limit.
    const isWithin = isMost ? result <= limit : result >= limit
    if (!isWithin) missed.push(name)
    return [name, base, goal, `${sign} ${formatNumber(limit)}`, describeSpread(values, formatNumber)]
  })
  if (missed.length > 0) process.exitCode = 1
  const sentence = missed.length > 0 ? `Beyond their limits: ${missed.join('; ')}.` : 'All are within their limits.'
  return `${table(['', 'base', 'goal', 'limit', 'median (quartiles)'], rows)}\n\n${sentence}`
}

/** Returns three significant digits. */
const formatNumber = (value: number) => String(Number(value.toPrecision(3)))
