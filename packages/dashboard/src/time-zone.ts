/**
 * Returns a time zone that the browser knows: UTC in place of a zone that is newer than the browser.
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
