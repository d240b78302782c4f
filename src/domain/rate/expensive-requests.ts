import { GatewayError } from '../errors.ts'
import { Semaphore } from './semaphore.ts'

/** The maximum number of expensive requests of a token that run at the same time, and of those that wait. */
const limits = { maxRunning: 2, maxWaiting: 8 }

/**
 * The time after which a caller should repeat a rejected request, in seconds: about as long as an expensive request
 * takes.
 */
const retryAfter = 1

const tooManyError = () =>
  new GatewayError(
    'RATE_LIMITED',
    `This token has ${limits.maxRunning + limits.maxWaiting} expensive requests under way. Repeat this one when another has ended.`,
    { retryAfter },
  )

/**
 * Limits the expensive requests of each token: requests that cost more than one quota unit (R31). Only requests of the
 * same token wait for each other.
 */
export class ExpensiveRequests {
  readonly #ofToken = new Map<number, Semaphore>()

  /**
   * Runs a request as soon as fewer than two requests of the token run.
   *
   * @throws `RATE_LIMITED` when too many of them wait
   */
  async run<Result>(tokenId: number, work: () => Result | Promise<Result>): Promise<Result> {
    const semaphore = this.#ofToken.get(tokenId) ?? new Semaphore({ ...limits, tooMany: tooManyError })
    this.#ofToken.set(tokenId, semaphore)
    try {
      return await semaphore.run(work)
    } finally {
      if (semaphore.isIdle) this.#ofToken.delete(tokenId)
    }
  }
}
