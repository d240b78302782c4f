import type { Instant } from '../../domain/value/instant.ts'

const day = { timeZone: 'UTC', day: 'numeric', month: 'short' } as const
const shortDay = new Intl.DateTimeFormat('en-GB', day)
const longDay = new Intl.DateTimeFormat('en-GB', { ...day, year: 'numeric' })
const minute = new Intl.DateTimeFormat('en-GB', { ...day, year: 'numeric', hour: '2-digit', minute: '2-digit' })

/** Returns a number as people write it: `1,204`. */
export const formatCount = (count: number): string => count.toLocaleString('en')

/** Formats a day, `YYYY-MM-DD`, as `12 Nov 2026`. */
export const formatDay = (day: string): string => longDay.format(new Date(day))

/** Formats a day, `YYYY-MM-DD`, as `12 Nov`. */
export const formatShortDay = (day: string): string => shortDay.format(new Date(day))

/** Returns an instant to the minute: `21 Nov 2026, 09:14 UTC`. */
export const formatTimestamp = (at: Instant | Date): string => `${minute.format(new Date(at))} UTC`

/** An instant as a `<time>` element, readable for people and for programs. */
export const Timestamp = ({ at }: { at: Instant | Date }) => (
  <time datetime={new Date(at).toISOString()}>{formatTimestamp(at)}</time>
)
