/** A date, as the number of days since 1970-01-01. */
export type Day = number

/** An instant, in microseconds since 1970-01-01 UTC; a number holds it exactly up to the year 2255. */
export type Microseconds = number

/** A second, in microseconds. */
export const second = 1_000_000
export const microsecondsPerDay = 86_400 * second

const dayTexts = new Map<Day, string>()

/** Formats a date as `2026-01-31`. */
export function dayText(day: Day): string {
  let text = dayTexts.get(day)
  if (text === undefined) {
    text = new Date(day * 86_400_000).toISOString().slice(0, 10)
    dayTexts.set(day, text)
  }
  return text
}

const two = (value: number) => (value < 10 ? `0${value}` : String(value))

/** Formats an instant as `2026-01-31 23:59:59.000001+00`. */
export function instantText(instant: Microseconds): string {
  const day = dayOf(instant)
  const micros = instant - day * microsecondsPerDay
  const seconds = Math.floor(micros / second)
  const time = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return `${dayText(day)} ${time}.${String(micros - seconds * second).padStart(6, '0')}+00`
}

/** Returns the UTC date of an instant. */
export function dayOf(instant: Microseconds): Day {
  return Math.floor(instant / microsecondsPerDay)
}

/** Adds months to a date. When the target month is too short, the date overflows into the next month. */
export function addMonths(day: Day, months: number): Day {
  const date = new Date(day * 86_400_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, date.getUTCDate()) / 86_400_000
}

/** Returns the last day of the following year. */
export function endOfNextYear(day: Day): Day {
  return Date.UTC(new Date(day * 86_400_000).getUTCFullYear() + 1, 11, 31) / 86_400_000
}
