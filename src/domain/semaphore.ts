import { GatewayError } from './errors.ts'

/** Limits how much work runs and waits at a time. A rejected caller should retry after `retryAfter` seconds. */
export function createSemaphore(limits: { maxRunning: number; maxWaiting: number; retryAfter: number }) {
  const waiting: (() => void)[] = []
  let running = 0

  return {
    /** Runs the work when its turn comes; throws `UNAVAILABLE`, without waiting, when too many calls are waiting. */
    async run<Result>(work: () => Promise<Result>): Promise<Result> {
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
