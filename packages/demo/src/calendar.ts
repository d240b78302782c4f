/** A day, in milliseconds. */
export const millisecondsPerDay = 86_400_000

/** A calendar date, as the number of days since 1970-01-01. */
export type Day = number

/** An instant, as microseconds since 1970-01-01 UTC. A JavaScript number is exact for instants up to the year 2255. */
export type Microseconds = number

/** A second, in microseconds. */
export const microsecondsPerSecond = 1_000_000
export const microsecondsPerDay = 86_400 * microsecondsPerSecond

/** Formats a date as `2026-01-31`. */
export const isoDay = (day: Day | null): string | null =>
  day === null ? null : new Date(day * millisecondsPerDay).toISOString().slice(0, 10)

/** Formats an instant as `2026-01-31T23:59:59.000001Z`. */
export function isoInstant(instant: Microseconds | null): string | null {
  if (instant === null) return null
  const milliseconds = new Date(instant / 1000).toISOString().slice(0, -1)
  return `${milliseconds}${String(instant % 1000).padStart(3, '0')}Z`
}

/** Returns the UTC date of an instant. */
export const dayOf = (instant: Microseconds): Day => Math.floor(instant / microsecondsPerDay)

/** Adds months to a date. When the target month is too short, the result is a date in the next month. */
export function addMonths(day: Day, months: number): Day {
  const date = new Date(day * millisecondsPerDay)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, date.getUTCDate()) / millisecondsPerDay
}

/** Returns the last day of the following year. */
export function endOfNextYear(day: Day): Day {
  return Date.UTC(new Date(day * millisecondsPerDay).getUTCFullYear() + 1, 11, 31) / millisecondsPerDay
}
