// Calculates the days with which a period is compared. The result depends only on the days of the period, not on its
// name.
import { addDays, countIntervals, type Days } from './period.ts'

/**
 * The possible comparisons. `last-year`: the same days of last year. `before`: the same number of days directly before
 * the period. `none`: no comparison.
 */
export const comparisons = ['last-year', 'before', 'none'] as const

export type Comparison = (typeof comparisons)[number]

/**
 * Returns the same day of the year before. 29 February becomes 28 February, because the year before a leap year has no
 * 29 February.
 */
const yearBefore = (day: string): string =>
  `${String(Number(day.slice(0, 4)) - 1).padStart(4, '0')}${day.slice(4)}`.replace('-02-29', '-02-28')

/**
 * Returns the days with which a period is compared. When the period has not ended, only its days until today are
 * compared.
 *
 * @param today `YYYY-MM-DD`
 * @returns null for the comparison `none`, and for a period that has not begun
 */
export function comparedDays({ from, to }: Days, comparison: Comparison, today: string): Days | null {
  if (comparison === 'none' || from > today) return null
  const days = { from, to: to < today ? to : today }
  if (comparison === 'last-year') return { from: yearBefore(from), to: yearBefore(days.to) }
  return { from: addDays(from, -countIntervals(days, 'DAY')), to: addDays(from, -1) }
}

/**
 * Returns the change from one number to another as a share of the first number; null when the first number is missing
 * or zero.
 */
export const changeFrom = (before: number, now: number): number | null =>
  before === 0 ? null : (now - before) / before
