// Converts calendar days in a time zone to instants, because filters are days but the API compares instants.

/**
 * Returns the time zone if the browser knows it, otherwise UTC. A zone can be newer than the browser.
 *
 * @param timeZone a name of the tz database
 */
export function zoneOrUtc(timeZone: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
    return timeZone
  } catch {
    return 'UTC'
  }
}

/** Returns the offset of a time zone from UTC at an instant, in milliseconds. */
export function offsetAt(instant: number, timeZone: string): number {
  // The Swedish format of days and times is the one of ISO 8601: `2026-01-31 09:30:00`.
  const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  const shown = Date.parse(`${format.format(instant).replace(' ', 'T')}Z`)
  return shown - Math.floor(instant / 1000) * 1000
}

/**
 * Returns the instant at which a day begins in a time zone. When the clocks skip midnight on this day, returns the
 * first instant after the change.
 *
 * @param day `YYYY-MM-DD`
 * @param timeZone an IANA name; a name that the browser does not know counts as UTC
 * @returns ISO 8601 in UTC
 */
export function startOfDay(day: string, timeZone: string): string {
  const zone = zoneOrUtc(timeZone)
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // Tries the offsets one day before and one day after midnight, which differ when the clocks change in between.
  const candidates = [-1, 1].map(days => midnight - offsetAt(midnight + days * 86_400_000, zone))
  const real = candidates.filter(instant => instant + offsetAt(instant, zone) === midnight)
  return new Date(Math.min(...(real.length > 0 ? real : [Math.max(...candidates)]))).toISOString()
}
