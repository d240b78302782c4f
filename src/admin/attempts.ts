import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Pool } from '../db/connect.ts'
import { noteRefusedSignIn } from '../domain/administrator.ts'
import type { Actor } from '../domain/audit.ts'
import { GatewayError } from '../domain/errors.ts'

/** How many wrong passwords are heard in a window, and its length in seconds. */
const limits = { account: 5, address: 20 }
const window = 15 * 60

/** Lets passwords be tried, but not often wrong ones. */
export interface Attempts {
  /**
   * Tries a password. Each try is counted before it is looked at, so that of a burst no more than the limit get that
   * far; a right one is taken back. What is refused is put down in the audit.
   *
   * @param actor whose account it is, and from where
   * @param check null: the password is wrong
   * @returns what the check does
   * @throws `RATE_LIMITED`
   */
  attempt<Result>(actor: Actor, check: () => Promise<Result | null>): Promise<Result | null>
}

const tooMany = (secondsLeft: number) => {
  const minutes = Math.ceil(secondsLeft / 60)
  return new GatewayError(
    'RATE_LIMITED',
    `There were too many attempts with a wrong password. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    { retryAfter: secondsLeft },
  )
}

/** Counts in memory: each instance counts for itself. */
export function createAttempts(sql: Pool): Attempts {
  const accounts = new RateLimiterMemory({ keyPrefix: 'account', points: limits.account, duration: window })
  const addresses = new RateLimiterMemory({ keyPrefix: 'address', points: limits.address, duration: window })

  async function spend(limiter: RateLimiterMemory, key: string, actor: Actor): Promise<void> {
    try {
      await limiter.consume(key)
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      // The first one of a window is put down, and not the thousands that may follow.
      if (refusal.consumedPoints === limiter.points + 1) await noteRefusedSignIn(sql, actor, 'too many attempts')
      throw tooMany(Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)))
    }
  }

  return {
    async attempt(actor, check) {
      const address = actor.address ?? ''
      await spend(addresses, address, actor)
      await spend(accounts, actor.name, actor)
      const result = await check()
      if (result === null) await noteRefusedSignIn(sql, actor, 'wrong password')
      else await Promise.all([accounts.delete(actor.name), addresses.reward(address)])
      return result
    },
  }
}
