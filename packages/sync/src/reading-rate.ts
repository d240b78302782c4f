import type { SyncEvent } from './event.ts'

export interface ReadingRate {
  recordsPerSecond: number
  /** Null when the number of records of the list is unknown. */
  secondsLeft: number | null
}

/**
 * Creates a function that measures how fast the current list is read, since the first event of this list in this run.
 */
export function createRateMeter() {
  let start = { key: '', at: 0, received: 0 }

  /** Returns the rate after an event; null before the second event of a list. */
  return ({ tenant, list, received, total }: SyncEvent & { event: 'progress' }): ReadingRate | null => {
    const key = `${tenant} ${list}`
    if (key !== start.key) start = { key, at: performance.now(), received }
    const seconds = (performance.now() - start.at) / 1000
    if (received === start.received || seconds === 0) return null
    const recordsPerSecond = (received - start.received) / seconds
    return { recordsPerSecond, secondsLeft: total === null ? null : Math.max(0, total - received) / recordsPerSecond }
  }
}
