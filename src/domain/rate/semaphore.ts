import type { GatewayError } from '../errors.ts'

/** The limits of a semaphore. */
export interface SemaphoreLimits {
  maxRunning: number
  maxWaiting: number
  /** Makes the error of a call that finds too many waiting. */
  tooMany: () => GatewayError
}

/** Limits how much work runs and waits at a time. */
export class Semaphore {
  readonly #limits: SemaphoreLimits
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits
  }

  /** True when no work runs. */
  get isIdle(): boolean {
    return this.#running === 0
  }

  /** Runs the work when a slot is free. @throws `tooMany`, without waiting, when too many calls are waiting */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const { maxRunning, maxWaiting, tooMany } = this.#limits
    if (this.#running < maxRunning) this.#running++
    else {
      if (this.#waiting.length >= maxWaiting) throw tooMany()
      // The finished call passes its slot on, so `#running` does not change.
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
