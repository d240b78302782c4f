/**
 * The times at which bulk exports may begin: a service may have none, and each token may begin only some of them in an
 * hour.
 */
import { setTimeout as pause } from 'node:timers/promises'

/** The exports of a service, as far as they are known. */
export class ExportAvailability {
  /** True when the service has them. */
  available = true
  private allowedAt = 0

  /** Returns the seconds until the next export may begin. */
  delay(): number {
    return Math.max(0, (this.allowedAt - performance.now()) / 1000)
  }

  /** Records that the service refused one. @param seconds after which it may be tried again */
  refuse(seconds: number): void {
    // A timer is limited to 2^31 milliseconds.
    this.allowedAt = performance.now() + Math.min(seconds, 86_400) * 1000
  }

  /** Waits until the next export may begin. @throws the signal's reason when it is aborted */
  async wait(stop: AbortSignal): Promise<void> {
    await pause(this.delay() * 1000, undefined, { signal: stop })
  }
}
