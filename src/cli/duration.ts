import { InvalidArgumentError } from 'commander'
import { parseDuration } from '#sync'

/** Reads a duration, such as `90d`, `12h`, `30m` or `45s`. @returns seconds @throws InvalidArgumentError */
export function readDuration(text: string): number {
  const seconds = parseDuration(text)
  if (Number.isNaN(seconds)) throw new InvalidArgumentError('Give a duration, such as 90d, 12h, 30m or 45s.')
  return seconds
}

/** Reads a duration. @returns the time after it, counted from now @throws InvalidArgumentError */
export const readTimeFromNow = (text: string) => new Date(Date.now() + readDuration(text) * 1000)
