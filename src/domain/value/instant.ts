import { z } from 'zod'
import type { Fragment, RecordSql } from '../../db/sql.ts'

/** An instant as text (R13), `2026-01-02T03:04:05.123456Z`. The order of the texts is the order of the instants. */
export type Instant = string

/** Before every instant, in PostgreSQL and as text. */
export const beforeAll = '-infinity'

/** After every instant, in PostgreSQL and as text. */
export const afterAll = 'infinity'

/**
 * The maximum length of a text that is parsed, in characters. The limit is low, because a field below a list parses its
 * argument for each record.
 */
const maxInstantLength = 1_000

const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+ -]\d\d)(?::?(\d\d))?)?$/i

/** Matches days and times that exist, with seconds and an offset. */
const realDateTime = z.regexes.datetime({ offset: true, precision: 0 })

export const instantMessage = 'Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.'

/**
 * Parses an instant (R6): an ISO-8601 date and time with `Z` or an offset; without an offset it is UTC. A space in
 * place of the sign of the offset is a `+` that the decoding of a URL has changed. Digits after the microseconds are
 * cut.
 *
 * @returns the instant; `infinity` when the offset moves it past the year 9999; null when the text is no instant
 */
export function parseInstant(text: string): Instant | null {
  const parts = text.length <= maxInstantLength ? form.exec(text) : null
  if (!parts) return null
  const [, toMinute = '', second = '00', fraction = '', offsetHour = '+00', offsetMinute = '00'] = parts
  const normal = `${toMinute.toUpperCase()}:${second}${offsetHour.replace(' ', '+')}:${offsetMinute}`
  if (!realDateTime.test(normal)) return null
  const time = new Date(normal)
  if (time.getUTCFullYear() > 9999) return afterAll
  if (time.getUTCFullYear() < 1) return '0001-01-01T00:00:00.000000Z'
  return `${time.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
}

/** Returns the SQL of the text of an instant (R13). */
export const instantText = (sql: RecordSql, instant: Fragment): Fragment =>
  sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
