import { GatewayError } from '../errors.ts'
import { Semaphore } from './semaphore.ts'

/** The maximum numbers of a token's expensive requests that run and that wait. */
const limits = { maxRunning: 2, maxWaiting: 8 }

/** The time after which a request is worth repeating, in seconds: an expensive request takes about as long. */
const retryAfter = 1

const tooMany = () =>
  new GatewayError(
    'RATE_LIMITED',
    `This token has ${limits.maxRunning + limits.maxWaiting} expensive requests under way. Repeat this one when another has ended.`,
    { retryAfter },
  )

/**
 * Limits the requests of each token that cost more than one quota unit (R31): they wait for each other, and requests of
 * other tokens do not wait for them.
 */
export class ExpensiveRequests {
  readonly #ofToken = new Map<number, Semaphore>()

  /** Runs a request when the token's turn comes. @throws `RATE_LIMITED` when the token has too many */
  async run<Result>(tokenId: number, work: () => Result | Promise<Result>): Promise<Result> {
    const semaphore = this.#ofToken.get(tokenId) ?? new Semaphore({ ...limits, tooMany })
    this.#ofToken.set(tokenId, semaphore)
    try {
      return await semaphore.run(work)
    } finally {
      if (semaphore.isIdle) this.#ofToken.delete(tokenId)
    }
  }
}
