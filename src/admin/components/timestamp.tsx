import type { Instant } from '../../domain/instant.ts'

const form = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})

/** An instant for people, to the minute: `21 Nov 2026, 09:14 UTC`. */
export const momentText = (at: Instant | Date): string => `${form.format(new Date(at))} UTC`

/** An instant for people and machines. */
export const Moment = ({ at }: { at: Instant | Date }) => (
  <time datetime={new Date(at).toISOString()}>{momentText(at)}</time>
)
