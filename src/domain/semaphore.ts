import { GatewayError } from './errors.ts'

/** Lets a few through at a time. */
export interface Semaphore {
  /**
   * Does the work when its turn comes.
   *
   * @throws `UNAVAILABLE`, at once, when too many wait already
   */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

/**
 * @param limits how many may be at work, how many may wait, and the seconds after which who is sent away should come
 *   again
 */
export function createSemaphore(limits: { working: number; waiting: number; retryAfter: number }): Semaphore {
  const waiting: (() => void)[] = []
  let working = 0

  return {
    async run(work) {
      if (working < limits.working) working++
      else {
        if (waiting.length >= limits.waiting) throw tooManyAtOnce(limits.retryAfter)
        // Whoever is done hands his place on.
        await new Promise<void>(resolve => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else working--
      }
    },
  }
}

const tooManyAtOnce = (retryAfter: number) =>
  new GatewayError('UNAVAILABLE', 'Too many passwords are being checked at this moment. Try again in a few seconds.', {
    retryAfter,
  })
