import type { GraphQLResolveInfo } from 'graphql'
import { getGraphQLRateLimiter, type Identity, Store } from 'graphql-rate-limit'
import { rateLimited } from '../domain/errors.ts'
import { type RateBudget, rateWindowSeconds } from '../domain/rate.ts'
import type { Context } from './context.ts'

/**
 * graphql-rate-limit over an atomic counter: its own stores read, then write, and lose calls in between. Here reading
 * counts the call, for all fields alike: all operations spend one budget (R28).
 */
class CountingStore extends Store {
  readonly #budget: RateBudget

  constructor(budget: RateBudget) {
    super()
    this.#budget = budget
  }

  /** Counts this call. The library allows one call: a timestamp of another means that the limit is spent. */
  override async getForIdentity({ contextIdentity }: Identity): Promise<number[]> {
    const { limit, counter } = this.#budget
    const { used } = await counter.hit(contextIdentity)
    return used > limit ? [Date.now()] : []
  }

  override setForIdentity(): void {}
}

type Limiter = ReturnType<typeof getGraphQLRateLimiter>
/** The library gives a store the identity without its limit, so each budget has a limiter. */
const limiters = new WeakMap<RateBudget, Limiter>()

function limiterOf(budget: RateBudget): Limiter {
  const known = limiters.get(budget)
  if (known) return known
  const limiter = getGraphQLRateLimiter({
    identifyContext: (context: Context) => context.caller.rateKey,
    store: new CountingStore(budget),
  })
  limiters.set(budget, limiter)
  return limiter
}

/**
 * Spends the caller's rate on v1 operations (R28). The first of a request is the one that its transport has counted.
 *
 * @param operations how many
 * @returns null when there is nothing to wait for
 * @throws `RATE_LIMITED` when the window has none left
 */
export function spendOperations(context: Context, info: GraphQLResolveInfo, operations: number): Promise<void> | null {
  const before = context.caller.operations
  context.caller.operations += operations
  const prepaid = before === 0 ? 1 : 0
  return operations > prepaid ? spend(context, info, operations - prepaid) : null
}

async function spend(context: Context, info: GraphQLResolveInfo, operations: number): Promise<void> {
  const { rate, caller } = context
  const call = { parent: null, args: {}, context, info }
  for (let left = operations; left > 0; left--) {
    const exceeded = await limiterOf(rate)(call, { max: 1, window: `${rateWindowSeconds}s` })
    if (exceeded === undefined) continue
    const { resetsIn } = await rate.counter.read(caller.rateKey)
    throw rateLimited(Math.ceil(resetsIn / 1000))
  }
}
