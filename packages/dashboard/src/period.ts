// Periods of calendar days, written as `YYYY-MM-DD`. The calculations do not depend on a time zone.
import { offsetAt, zoneOrUtc } from './instant.ts'

/** The lengths of the intervals of a plot, as `FigureInterval` of the schema. Weeks begin on Monday. */
export const intervals = ['DAY', 'WEEK', 'MONTH'] as const

export type Interval = (typeof intervals)[number]

/** Calendar days, both included. */
export interface Days {
  from: string
  to: string
}

/** The maximum number of intervals in one answer of the API. */
const maxIntervals = 400

const toUtcDate = (day: string) => new Date(`${day}T00:00:00Z`)
const dayOf = (date: Date) => date.toISOString().slice(0, 10)

/** Returns whether the text is a day that exists in the calendar, from the year 1000 on. */
export const isDay = (text: string): boolean =>
  /^[1-9]\d{3}-\d\d-\d\d$/.test(text) && !Number.isNaN(toUtcDate(text).getTime()) && dayOf(toUtcDate(text)) === text

/** Adds a number of days to a day; a negative number gives an earlier day. */
export function addDays(day: string, days: number): string {
  const date = toUtcDate(day)
  date.setUTCDate(date.getUTCDate() + days)
  return dayOf(date)
}

/**
 * Returns the calendar day of an instant in a time zone, `YYYY-MM-DD`.
 *
 * @param timeZone an IANA name; a name that the browser does not know counts as UTC
 */
export const dayIn = (timeZone: string, at: Date): string =>
  dayOf(new Date(at.getTime() + offsetAt(at.getTime(), zoneOrUtc(timeZone))))

/** Returns the first day of the month that is a number of months earlier than the month of `day`. */
export function startOfMonth(day: string, months: number): string {
  const first = toUtcDate(`${day.slice(0, 8)}01`)
  first.setUTCMonth(first.getUTCMonth() - months)
  return dayOf(first)
}

/**
 * Returns the days from the start of the first month to the last day before the month `end`. Both months are given as a
 * number of months before the current month.
 */
const monthsBefore = (today: string, first: number, end: number): Days => ({
  from: startOfMonth(today, first),
  to: addDays(startOfMonth(today, end), -1),
})

/** Returns how many months of the year, or of the quarter, are before the month of a day. */
const monthOfYear = (day: string) => Number(day.slice(5, 7)) - 1
const monthOfQuarter = (day: string) => monthOfYear(day) % 3

const daysOfPresets = {
  today: today => ({ from: today, to: today }),
  'last-7-days': today => ({ from: addDays(today, -6), to: today }),
  'last-30-days': today => ({ from: addDays(today, -29), to: today }),
  'this-month': today => ({ from: startOfMonth(today, 0), to: today }),
  'last-month': today => monthsBefore(today, 1, 0),
  'this-quarter': today => ({ from: startOfMonth(today, monthOfQuarter(today)), to: today }),
  'last-quarter': today => monthsBefore(today, monthOfQuarter(today) + 3, monthOfQuarter(today)),
  'this-year': today => ({ from: startOfMonth(today, monthOfYear(today)), to: today }),
  'last-year': today => monthsBefore(today, monthOfYear(today) + 12, monthOfYear(today)),
  'last-12-months': today => ({ from: startOfMonth(today, 11), to: today }),
} as const satisfies Record<string, (today: string) => Days>

type Preset = keyof typeof daysOfPresets

/** The name of a period; `custom` for a period with a chosen first and last day. */
export type Period = Preset | 'custom'

/** The names of the periods that the viewer can choose, in the order of the menu. */
export const presets = Object.keys(daysOfPresets) as Preset[]

/** Returns the days of a named period, relative to `today`. */
export const daysOf = (period: Preset, today: string): Days => daysOfPresets[period](today)

/** Returns the number of intervals of a period. The first and the last interval may be partial. */
export function countIntervals({ from, to }: Days, by: Interval): number {
  const [first, last] = [toUtcDate(from), toUtcDate(to)]
  if (by === 'MONTH') {
    const months = (date: Date) => date.getUTCFullYear() * 12 + date.getUTCMonth()
    return months(last) - months(first) + 1
  }
  // Day 4 after 1970-01-01 was a Monday.
  const number = (date: Date) => date.getTime() / 86_400_000
  if (by === 'WEEK') return Math.floor((number(last) - 4) / 7) - Math.floor((number(first) - 4) / 7) + 1
  return number(last) - number(first) + 1
}

/** Returns whether a period has few enough intervals of this length for the API. */
export const isIntervalAllowed = (days: Days, by: Interval): boolean => countIntervals(days, by) <= maxIntervals

/** Returns the default interval of a period: the shortest of day and month with at most 62 intervals. */
export const defaultInterval = (days: Days): Interval =>
  intervals.find(by => by !== 'WEEK' && countIntervals(days, by) <= 62) ?? 'MONTH'

/** Returns the error of a typed period as a sentence; null when the period is valid. */
export function findFault({ from, to }: Days): string | null {
  if (!isDay(from) || !isDay(to)) return 'Give both days, for example 2026-01-31.'
  if (from > to) return 'The first day must not be after the last day.'
  if (!isIntervalAllowed({ from, to }, 'MONTH')) return `A period has at most ${maxIntervals} months.`
  return null
}
