// Calendar days as instants: filters are in days, columns of instants in time zones.
import { zoneOrUtc } from './time-zone.ts'

/** Returns the offset of a time zone from UTC at an instant, in milliseconds. */
export function offsetAt(instant: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    calendar: 'iso8601',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const parts = new Map(format.formatToParts(new Date(instant)).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return shown - Math.floor(instant / 1000) * 1000
}

/**
 * Returns the instant at which a day begins in a time zone: where its clocks skip midnight, the first instant after it.
 *
 * @param day `YYYY-MM-DD`
 * @param timeZone an IANA name; a name that the browser does not know counts as UTC
 * @returns ISO 8601 in UTC
 */
export function startOfDay(day: string, timeZone: string): string {
  const zone = zoneOrUtc(timeZone)
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // The offset before and after the day begins: they differ when the clocks change in between.
  const candidates = [-1, 1].map(days => midnight - offsetAt(midnight + days * 86_400_000, zone))
  const real = candidates.filter(instant => instant + offsetAt(instant, zone) === midnight)
  return new Date(Math.min(...(real.length > 0 ? real : [Math.max(...candidates)]))).toISOString()
}
