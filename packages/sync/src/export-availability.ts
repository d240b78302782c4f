/**
 * Records when the next bulk export may begin: a service can have no exports, and limits the number of exports per
 * token and hour.
 */
import { setTimeout as pause } from 'node:timers/promises'

/** Whether the service has bulk exports, and when the next one may begin. */
export class ExportAvailability {
  /** True until the service answers that it has no exports. */
  available = true
  private allowedAt = 0

  /** Returns the seconds until the next export may begin. */
  delay(): number {
    return Math.max(0, (this.allowedAt - performance.now()) / 1000)
  }

  /** Records that the service refused an export. @param seconds the time after which an export may be tried again */
  refuse(seconds: number): void {
    // Node's timers accept at most 2^31 milliseconds.
    this.allowedAt = performance.now() + Math.min(seconds, 86_400) * 1000
  }

  /** Waits until the next export may begin. @throws the signal's reason when it is aborted */
  async wait(stop: AbortSignal): Promise<void> {
    await pause(this.delay() * 1000, undefined, { signal: stop })
  }
}
