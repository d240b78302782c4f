import { GatewayError } from './errors.ts'

/** Limits how much work runs at a time. */
interface Semaphore {
  /**
   * Runs the work when its turn comes.
   *
   * @throws `UNAVAILABLE`, without waiting, when too many calls are waiting
   */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

/** @param limits how many may run and how many may wait; the seconds after which a rejected caller should retry */
export function createSemaphore(limits: { maxRunning: number; maxWaiting: number; retryAfter: number }): Semaphore {
  const waiting: (() => void)[] = []
  let running = 0

  return {
    async run(work) {
      if (running < limits.maxRunning) running++
      else {
        if (waiting.length >= limits.maxWaiting) throw tooManyAtOnce(limits.retryAfter)
        // The finished call passes its slot on, so `running` does not change.
        await new Promise<void>(resolve => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else running--
      }
    },
  }
}

const tooManyAtOnce = (retryAfter: number) =>
  new GatewayError('UNAVAILABLE', 'Too many passwords are being checked. Try again in a few seconds.', { retryAfter })
