// The period with which a period is compared.
import { addDays, countIntervals, type Days, type Period } from './period.ts'

const lastDayOf = (year: number, month: number) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

/**
 * Returns the day some months earlier. The last day of a month gives the last day of the earlier month, as does a day
 * that the earlier month lacks.
 */
function monthsBefore(day: string, months: number): string {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  const first = new Date(Date.UTC(year, month - 1 - months, 1))
  const last = lastDayOf(first.getUTCFullYear(), first.getUTCMonth())
  const isLast = date === lastDayOf(year, month - 1)
  first.setUTCDate(isLast ? last : Math.min(date, last))
  return first.toISOString().slice(0, 10)
}

const firstYear = '0001-01-01'

/**
 * Returns the period before a period. A period that begins with a month is compared with the same days of as many
 * months before; a part of this year with the same days of last year; any other period with as many days directly
 * before it.
 *
 * @param period its name: `this-year` is compared with the year before, `last-30-days` with 30 days whenever it begins
 */
export function periodBefore(days: Days, period: Period): Days {
  const { from, to } = days
  const earlier = (months: number) => ({ from: monthsBefore(from, months), to: monthsBefore(to, months) })
  if (period === 'this-year') return earlier(12)
  if (period !== 'last-30-days' && from.endsWith('-01')) return earlier(countIntervals(days, 'MONTH'))
  const before = { from: addDays(from, -countIntervals(days, 'DAY')), to: addDays(from, -1) }
  return before.from < firstYear ? { from: firstYear, to: before.to } : before
}

/**
 * Returns the change from one number to another as a share of the first; null when the first is missing or zero.
 */
export const changeFrom = (before: number, now: number): number | null =>
  before === 0 ? null : (now - before) / before
