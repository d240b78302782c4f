/** An instant as text (R13), `2026-01-02T03:04:05.123456Z`: instants sort as their texts do. */
export type Instant = string

/** Before every instant, in PostgreSQL and as text. */
export const beforeAll = '-infinity'

/** After every instant, in PostgreSQL and as text. */
export const afterAll = 'infinity'

/** The longest text that is parsed, in characters. A field below a list parses its argument for each record. */
const maxInstantLength = 1_000

const form = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:Z|([+ -])(\d{2})(?::?(\d{2}))?)?$/i

export const instantMessage = 'Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.'

/**
 * Parses an instant (R6): an ISO-8601 date and time with `Z` or an offset, UTC without one. A space before the offset
 * is a `+` that a URL decoded. Digits beyond the microsecond are cut.
 *
 * @returns the instant; `infinity` when its offset moves it past the year 9999; null when the text is no instant
 */
export function parseInstant(text: string): Instant | null {
  const parts = text.length <= maxInstantLength ? form.exec(text) : null
  if (!parts) return null
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(part => Number(part ?? 0)) as Six
  const [offsetHour, offsetMinute] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)]
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return null

  const time = new Date(0)
  time.setUTCFullYear(year, month - 1, day)
  if (time.getUTCMonth() !== month - 1 || time.getUTCDate() !== day) return null
  const offset = (offsetHour * 60 + offsetMinute) * (parts[8] === '-' ? -1 : 1)
  time.setUTCHours(hour, minute - offset, second)

  if (time.getUTCFullYear() > 9999) return afterAll
  if (time.getUTCFullYear() < 1) return '0001-01-01T00:00:00.000000Z'
  const microseconds = (parts[7] ?? '').slice(0, 6).padEnd(6, '0')
  return `${time.toISOString().slice(0, 19)}.${microseconds}Z`
}

type Six = [number, number, number, number, number, number]
