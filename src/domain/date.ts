/** A day of UTC, in milliseconds. */
export const millisecondsPerDay = 86_400_000

const form = /^(\d{4})-(\d{2})-(\d{2})$/

export const dateMessage = 'Give a date, such as 2026-01-31.'

/** Parses a calendar date, `YYYY-MM-DD`, of the years 1 to 9999. Returns null when the text is no such date. */
export function parseDate(text: string): string | null {
  const parts = form.exec(text)
  if (!parts) return null
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const time = new Date(0)
  time.setUTCFullYear(year, month - 1, day)
  return year > 0 && time.getUTCMonth() === month - 1 && time.getUTCDate() === day ? text : null
}
