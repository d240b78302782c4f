import type { GatewayError } from '../errors.ts'

interface SemaphoreLimits {
  maxRunning: number
  /** The maximum number of waiting tasks; default: no limit. */
  maxWaiting?: number
  tooMany?: () => GatewayError
}

/** Limits the number of running tasks and the number of waiting tasks. Tasks run in the order of their arrival. */
export class Semaphore {
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(private readonly limits: SemaphoreLimits) {}

  get isIdle(): boolean {
    return this.#running === 0
  }

  /** True when at least one task waits for a slot. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  /** Waits for a slot. @returns a function that releases the slot; only its first call has an effect */
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

  /** Takes a slot. @returns null when a slot was free; otherwise a promise that resolves when the task has a slot */
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
    // The next task gets the slot of this task, so `#running` does not change.
    if (next) next()
    else this.#running--
  }
}
