/** Days since 1970-01-01. */
export type Day = number

/** Microseconds since the start of 1970-01-01 UTC; exact in a number up to the year 2255. */
export type Micros = number

export const second = 1_000_000
export const microsOfDay = 86_400 * second

const dayTexts = new Map<Day, string>()

/** @returns `2026-01-31` */
export function dayText(day: Day): string {
  let text = dayTexts.get(day)
  if (text === undefined) {
    text = new Date(day * 86_400_000).toISOString().slice(0, 10)
    dayTexts.set(day, text)
  }
  return text
}

const two = (value: number) => (value < 10 ? `0${value}` : String(value))

/** @returns `2026-01-31 23:59:59.000001+00` */
export function instantText(instant: Micros): string {
  const day = dayOf(instant)
  const micros = instant - day * microsOfDay
  const seconds = Math.floor(micros / second)
  const time = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return `${dayText(day)} ${time}.${String(micros - seconds * second).padStart(6, '0')}+00`
}

/** @returns the day of an instant, in UTC */
export function dayOf(instant: Micros): Day {
  return Math.floor(instant / microsOfDay)
}

/** @returns the same day of the month so many months later, or the days by which that month is too short after it */
export function addMonths(day: Day, months: number): Day {
  const date = new Date(day * 86_400_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, date.getUTCDate()) / 86_400_000
}

/** @returns the last day of the year after that of `day` */
export function endOfNextYear(day: Day): Day {
  return Date.UTC(new Date(day * 86_400_000).getUTCFullYear() + 1, 11, 31) / 86_400_000
}
