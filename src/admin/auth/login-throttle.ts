import { isIP } from 'node:net'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Pool } from '../../db/connect.ts'
import { recordFailedSignIn } from '../../domain/administrator-password.ts'
import type { Actor } from '../../domain/audit.ts'
import { GatewayError } from '../../domain/errors.ts'

/** Failed attempts for an account and from an address, and audit entries in all, in one window. */
const limits = { account: 5, address: 20, entries: 100 }
/** The length of a window, in seconds. */
const windowSeconds = 15 * 60

/**
 * Limits failed sign-ins. Each attempt is counted before it is checked, so that a burst gets no further than the
 * limit; a successful attempt is refunded.
 */
export interface LoginThrottle {
  /**
   * Checks the password of an account. A failure is recorded in the audit.
   *
   * @param actor the account and the address of the attempt
   * @param check returns null when the password is wrong
   * @returns what `check` returns
   * @throws `RATE_LIMITED`
   */
  signIn<Result>(actor: Actor, check: () => Promise<Result | null>): Promise<Result | null>

  /**
   * Checks the password of the administrator who is signed in, as `signIn` does. These attempts are counted apart, so
   * that failed sign-ins of others do not lock out the owner of the account.
   */
  confirm<Result>(administratorId: number, actor: Actor, check: () => Promise<Result | null>): Promise<Result | null>

  /**
   * Limits how often the work fails for one address.
   *
   * @param work throws when it fails
   * @throws `RATE_LIMITED`
   */
  fromAddress<Result>(actor: Actor, work: () => Promise<Result>): Promise<Result>

  /** Records a failed sign-in in the audit; after 100 in a window, one entry says that more are left out. */
  recordFailure(actor: Actor, reason: string): Promise<void>
}

const tooManyAttempts = (secondsLeft: number) => {
  const minutes = Math.ceil(secondsLeft / 60)
  return new GatewayError(
    'RATE_LIMITED',
    `There were too many attempts to sign in. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    { retryAfter: secondsLeft },
  )
}

/** @returns a throttle that counts in memory: each instance of the service counts for itself */
export function createLoginThrottle(sql: Pool): LoginThrottle {
  const limiter = (keyPrefix: string, points: number) =>
    new RateLimiterMemory({ keyPrefix, points, duration: windowSeconds })
  const accounts = limiter('account', limits.account)
  const owners = limiter('owner', limits.account)
  const addresses = limiter('address', limits.address)
  const entries = limiter('entries', limits.entries)

  async function recordFailure(actor: Actor, reason: string): Promise<void> {
    const { consumedPoints } = await entries.penalty('all')
    if (consumedPoints <= limits.entries) return recordFailedSignIn(sql, actor, reason)
    if (consumedPoints === limits.entries + 1) {
      const service = { name: 'service', address: null }
      await recordFailedSignIn(
        sql,
        service,
        `too many to record: more are left out for up to ${windowSeconds / 60} minutes`,
      )
    }
  }

  async function consume(limiter: RateLimiterMemory, key: string, actor: Actor): Promise<void> {
    try {
      await limiter.consume(key)
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error
      // Only the first of a window is recorded, not the thousands that may follow.
      if (error.consumedPoints === limiter.points + 1) await recordFailure(actor, 'too many attempts')
      throw tooManyAttempts(Math.max(1, Math.ceil(error.msBeforeNext / 1000)))
    }
  }

  /** @param refund called when the check throws: the password was not compared */
  async function attempt<Result>(actor: Actor, check: () => Promise<Result | null>, refund: () => Promise<unknown>) {
    const result = await check().catch(async error => {
      await refund()
      throw error
    })
    if (result === null) await recordFailure(actor, 'wrong password')
    return result
  }

  return {
    recordFailure,

    async signIn(actor, check) {
      const network = networkOf(actor.address ?? '')
      await consume(addresses, network, actor)
      await consume(accounts, actor.name, actor)
      const result = await attempt(actor, check, () =>
        Promise.all([accounts.reward(actor.name), addresses.reward(network)]),
      )
      if (result !== null) await Promise.all([accounts.delete(actor.name), addresses.reward(network)])
      return result
    },

    async confirm(administratorId, actor, check) {
      const key = String(administratorId)
      await consume(owners, key, actor)
      const result = await attempt(actor, check, () => owners.reward(key))
      if (result !== null) await owners.delete(key)
      return result
    },

    async fromAddress(actor, work) {
      const network = networkOf(actor.address ?? '')
      await consume(addresses, network, actor)
      const result = await work()
      await addresses.reward(network)
      return result
    },
  }
}

/** @returns the /64 of an IPv6 address, which one subscriber has as a whole (RFC 6177); any other address as it is */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [bare] = address.split('%', 1)
  const [before, after] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (part = '') => part.split(':').filter(group => group !== '')
  const [first, last] = [groupsOf(before), groupsOf(after)]
  const zeros = Array<string>(8 - first.length - last.length).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
