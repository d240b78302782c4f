import { InvalidArgumentError } from 'commander'

/** The units of durations as people type them, in seconds. */
const units = { d: 86_400, h: 3600, m: 60, s: 1 } as const

/**
 * Reads a duration, such as `90d`, `12h`, `30m` or `45s`.
 *
 * @returns seconds
 * @throws InvalidArgumentError
 */
export function readDuration(text: string): number {
  const [, count, unit] = /^(0|[1-9]\d{0,5})([smhd])$/.exec(text) ?? []
  if (!count || !unit) throw new InvalidArgumentError('Give a duration, such as 90d, 12h, 30m or 45s.')
  return Number(count) * units[unit as keyof typeof units]
}

/** Reads a duration. @returns the time after it, counted from now @throws InvalidArgumentError */
export const readTimeFromNow = (text: string) => new Date(Date.now() + readDuration(text) * 1000)
