import type { SyncEvent } from './event.ts'

/** The speed at which a list is read. */
export interface ReadingRate {
  recordsPerSecond: number
  /** Null: the list is not counted. */
  secondsLeft: number | null
}

/** Measures the rate of the list that is being read, from the first event about it in this run. */
export class RateMeter {
  private key = ''
  private since = 0
  private from = 0

  /** Returns the rate after an event; null when it is not known yet. */
  of({ tenant, list, received, total }: SyncEvent & { event: 'progress' }): ReadingRate | null {
    const key = `${tenant} ${list}`
    if (key !== this.key) {
      Object.assign(this, { key, since: performance.now(), from: received })
      return null
    }
    const seconds = (performance.now() - this.since) / 1000
    const recordsPerSecond = seconds > 0 ? (received - this.from) / seconds : 0
    if (recordsPerSecond === 0) return null
    return { recordsPerSecond, secondsLeft: total === null ? null : Math.max(0, total - received) / recordsPerSecond }
  }
}
