/**
 * Records whether a service can answer `changes`, and how often a sync may request it: each request uses one unit of
 * the rate limit.
 */
import type { ListChanges } from '#client'

/**
 * When a service could not answer `changes`, a sync tries again after this time, in milliseconds: during an upgrade,
 * only some instances can answer.
 */
const refusalLifetime = 300_000

/**
 * Whether the service can answer `changes`, and the rate limit of its last answer. All rounds of a run share this
 * object.
 */
export class ChangeAvailability {
  private rate: ListChanges['rate'] = null
  private refusedAt: number | null = null

  /**
   * False when the service could not answer `changes` a short time ago, because it has an earlier version or does not
   * trust the document.
   */
  get available(): boolean {
    return this.refusedAt === null || performance.now() - this.refusedAt > refusalLifetime
  }

  take({ rate }: ListChanges): void {
    this.rate = rate
    this.refusedAt = null
  }

  /** Records that the service could not answer `changes`. @returns true when the last request was answered */
  refuse(): boolean {
    const isNew = this.refusedAt === null
    this.refusedAt = performance.now()
    return isNew
  }

  /**
   * Returns the pause before the next request for changes, in seconds. The pause is short enough to copy a change
   * within a second, and longer when little of the rate limit is left, because requests for lists also use the rate
   * limit. The pause is partly random, so that several syncs do not send their requests at the same time.
   */
  pause(): number {
    const { remaining, resetsIn } = this.rate ?? { remaining: 100, resetsIn: 60 }
    const seconds = this.available ? Math.max(0.85, resetsIn / Math.max(1, remaining - 5)) : 30
    return seconds * (1 + Math.random() / 20)
  }
}
