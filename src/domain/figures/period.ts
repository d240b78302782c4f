import type { FieldErrors } from '../errors.ts'
import { dateMessage, millisecondsPerDay, parseDate } from '../value/date.ts'

/** A range of calendar days, `YYYY-MM-DD`, from `from` to `to`, including both. */
export interface Days {
  from: string
  to: string
}

/** The length of the intervals of a period. */
export type FigureInterval = 'DAY' | 'WEEK' | 'MONTH'

export const maxIntervals = 400

/** Returns the number of days since 1970-01-01, or null when the text is no calendar day of the years 2 to 9998. */
function parseDay(text: string): number | null {
  // In UTC, a day can begin in the year before it or end in the year after it, and R13 allows only years with four
  // digits.
  const date = text < '0002' || text >= '9999' ? null : parseDate(text)
  return date === null ? null : Date.parse(date) / millisecondsPerDay
}

const dateOf = (day: number): Date => new Date(day * millisecondsPerDay)
const dayText = (day: number): string => dateOf(day).toISOString().slice(0, 10)

/** Returns the first day of the interval after the interval that contains `day`. Weeks begin on Monday (ISO 8601). */
function nextStart(day: number, by: FigureInterval): number {
  if (by === 'DAY') return day + 1
  const date = dateOf(day)
  if (by === 'WEEK') return day + 7 - ((date.getUTCDay() + 6) % 7)
  date.setUTCMonth(date.getUTCMonth() + 1, 1)
  return date.getTime() / millisecondsPerDay
}

/**
 * Cuts a period into intervals. The first and the last interval are shorter when the period begins or ends within them.
 *
 * @param fieldErrors receives the errors of `from`, `to` and `period`
 * @returns the intervals; none when there is an error
 */
export function cutPeriod({ from, to }: Days, by: FigureInterval, fieldErrors: FieldErrors): Days[] {
  const first = parseDay(from)
  const last = parseDay(to)
  if (first === null) fieldErrors.from = [dateMessage]
  if (last === null) fieldErrors.to = [dateMessage]
  if (first === null || last === null) return []
  if (first > last) {
    fieldErrors.to = ['Must not be before from.']
    return []
  }
  const intervals: Days[] = []
  for (let start = first; start <= last; ) {
    if (intervals.length === maxIntervals) {
      fieldErrors.period = [`Must have at most ${maxIntervals} intervals. Give a shorter period, or longer intervals.`]
      return []
    }
    const next = nextStart(start, by)
    intervals.push({ from: dayText(start), to: dayText(Math.min(next - 1, last)) })
    start = next
  }
  return intervals
}
