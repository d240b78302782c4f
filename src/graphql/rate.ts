import type { GraphQLResolveInfo } from 'graphql'
import { getGraphQLRateLimiter, Store } from 'graphql-rate-limit'
import { rateLimited } from '../domain/errors.ts'
import { type RateWindow, rateWindowSeconds, secondsLeft } from '../domain/rate/rate.ts'
import type { Caller } from '../domain/token/caller.ts'
import type { Context } from './context.ts'
import type { Reader } from './loaders.ts'

/**
 * A store for graphql-rate-limit that uses an atomic counter. The library's own stores first read and then write, so
 * they lose calls that come in between. In this store, the read also counts the call. All fields share one budget
 * (R28). The calls of fields that are resolved together are counted in one step.
 */
class CountingStore extends Store {
  #together: { calls: number; window: Promise<RateWindow> } | null = null

  constructor(private readonly caller: Caller) {
    super()
  }

  /**
   * Counts this call. The library is set to allow one call, so one returned timestamp means that the limit is reached.
   */
  override async getForIdentity(): Promise<number[]> {
    this.#together ??= this.#begin()
    const step = this.#together
    const place = ++step.calls
    const { used } = await step.window
    return used - step.calls + place > this.caller.rate.limit ? [Date.now()] : []
  }

  override setForIdentity(): void {}

  #begin() {
    const { caller } = this
    const window = Promise.resolve().then(() => this.#count())
    const end = () => {
      if (caller.counting === counting) caller.counting = undefined
    }
    const counting: Promise<void> = window.then(end, end)
    caller.counting = counting
    return { calls: 0, window }
  }

  async #count(): Promise<RateWindow> {
    const { rate, rateKey } = this.caller
    const calls = this.#together?.calls ?? 0
    this.#together = null
    this.caller.window = await rate.counter.hit(rateKey, calls, rate.limit)
    return this.caller.window
  }
}

const rateLimiter = ({ caller }: Reader) =>
  getGraphQLRateLimiter({ identifyContext: () => caller.rateKey, store: new CountingStore(caller) })

/**
 * Spends quota units of the caller (R28). The transport has already counted the first unit of a request.
 *
 * @returns null when the units were counted without a wait
 * @throws `RATE_LIMITED` when the window has none left
 */
export function spendUnits(context: Context, info: GraphQLResolveInfo, units: number): Promise<void> | null {
  const { cost } = context.caller
  context.caller.cost += units
  const prepaid = cost === 0 ? 1 : 0
  return units > prepaid ? spend(context, info, units - prepaid) : null
}

async function spend(context: Context, info: GraphQLResolveInfo, units: number): Promise<void> {
  const limiter = context.loaders.get(rateLimiter)
  const call = { parent: null, args: {}, context, info }
  const calls = Array.from({ length: units }, () => limiter(call, { max: 1, window: `${rateWindowSeconds}s` }))
  const rejected = (await Promise.all(calls)).filter(message => message !== undefined).length
  context.caller.rejectedCost += rejected
  if (rejected > 0) throw rateLimited(secondsLeft(context.caller.window))
}
