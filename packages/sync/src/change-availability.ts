/** Records whether a service names changes, and how often it can be asked: each request spends a unit of the rate. */
import type { ListChanges } from '#client'

/**
 * A service that named no changes is asked again after this many milliseconds: during an upgrade, only some instances
 * name changes.
 */
const refusalLifetime = 300_000

/** The changes of a service, as far as they are known. All rounds of a run share it. */
export class ChangeAvailability {
  private rate: ListChanges['rate'] = null
  private refusedAt: number | null = null

  /**
   * False when the service named no changes a short time ago: it has an earlier version, or does not trust the
   * document.
   */
  get available(): boolean {
    return this.refusedAt === null || performance.now() - this.refusedAt > refusalLifetime
  }

  take({ rate }: ListChanges): void {
    this.rate = rate
    this.refusedAt = null
  }

  /** Records that the service named no changes. @returns whether that is new */
  refuse(): boolean {
    const isNew = this.refusedAt === null
    this.refusedAt = performance.now()
    return isNew
  }

  /**
   * Returns the pause of a sync that follows changes until its next request, in seconds: short enough to copy a change
   * within a second, and longer when little is left of the rate limit. Requests for lists also need a part of that
   * limit. The pause is partly random, so that syncs do not ask at the same time.
   */
  pause(): number {
    const { remaining, resetsIn } = this.rate ?? { remaining: 100, resetsIn: 60 }
    const seconds = this.available ? Math.max(0.85, resetsIn / Math.max(1, remaining - 5)) : 30
    return seconds * (1 + Math.random() / 20)
  }
}
