import type { GatewayError } from '../errors.ts'

interface SemaphoreLimits {
  maxRunning: number
  /** The maximum number of waiting tasks; default: no limit. */
  maxWaiting?: number
  tooMany?: () => GatewayError
}

/** Limits the tasks that run and that wait at a time. The task that came first runs first. */
export class Semaphore {
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(private readonly limits: SemaphoreLimits) {}

  get isIdle(): boolean {
    return this.#running === 0
  }

  /** True when work waits for a slot. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  /** Waits for a slot. @returns a function that releases it, once */
  async take(): Promise<() => void> {
    await this.#enter()
    let isTaken = true
    return () => {
      if (isTaken) this.#leave()
      isTaken = false
    }
  }

  /** Runs the work when a slot is free. @throws `tooMany`, without waiting, when too many calls are waiting */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const waiting = this.#enter()
    if (waiting) await waiting
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  /** Takes a slot. @returns null when one was free */
  #enter(): Promise<void> | null {
    const { maxRunning, maxWaiting = Number.POSITIVE_INFINITY, tooMany } = this.limits
    if (this.#running < maxRunning) {
      this.#running++
      return null
    }
    if (tooMany && this.#waiting.length >= maxWaiting) throw tooMany()
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  #leave(): void {
    const next = this.#waiting.shift()
    // The next work takes the slot over, so `#running` does not change.
    if (next) next()
    else this.#running--
  }
}
