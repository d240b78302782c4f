/** Whether a service names changes, and how often it can be asked: each request spends a unit of the rate. */
import type { ListChanges } from '#client'

/** A service that gave no changes is asked again after this many milliseconds: during an upgrade, only some instances give them. */
const refusalLifetime = 300_000

/** The changes of a service, as far as they are known. All rounds of a run share it. */
export class ChangeAvailability {
  private rate: ListChanges['rate'] = null
  private refusedAt: number | null = null

  /** False when the service gave none a short time ago: it has an earlier version, or does not trust the document. */
  get available(): boolean {
    return this.refusedAt === null || performance.now() - this.refusedAt > refusalLifetime
  }

  take({ rate }: ListChanges): void {
    this.rate = rate
    this.refusedAt = null
  }

  /** Records that the service gave none. @returns whether that is new */
  refuse(): boolean {
    const isNew = this.refusedAt === null
    this.refusedAt = performance.now()
    return isNew
  }

  /**
   * Returns the pause until the next question of a sync that follows changes, in seconds: short enough for a change to be taken
   * within a second, and longer when little is left of the rate limit. Lists also need a part of it. Not all syncs ask
   * at the same time.
   */
  pause(): number {
    const { remaining, resetsIn } = this.rate ?? { remaining: 100, resetsIn: 60 }
    const seconds = this.available ? Math.max(0.85, resetsIn / Math.max(1, remaining - 5)) : 30
    return seconds * (1 + Math.random() / 20)
  }
}
