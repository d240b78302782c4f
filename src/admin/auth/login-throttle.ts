import { isIP } from 'node:net'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Pool } from '../../db/connect.ts'
import { recordFailedSignIn } from '../../domain/administrator-password.ts'
import type { Actor } from '../../domain/audit.ts'
import { GatewayError } from '../../domain/errors.ts'

/** How many refused attempts are heard in a window, how many are put down in all, and the window's length in seconds. */
const limits = { account: 5, address: 20, entries: 100 }
const window = 15 * 60

/**
 * Lets people try to sign in, but not often in vain. Each attempt is counted before it is looked at, so that of a burst
 * no more than the limit get that far; one that succeeds is taken back.
 */
export interface LoginThrottle {
  /**
   * Tries the password of an account. What is refused is put down in the audit.
   *
   * @param actor whose account it is, and from where
   * @param check null: the password is wrong
   * @returns what the check does
   * @throws `RATE_LIMITED`
   */
  signIn<Result>(actor: Actor, check: () => Promise<Result | null>): Promise<Result | null>

  /**
   * Tries the password of whoever is signed in, as `signIn` does, but counted apart: strangers who guess at the account
   * do not close this to its owner.
   *
   * @param administratorId who is signed in
   */
  confirm<Result>(administratorId: number, actor: Actor, check: () => Promise<Result | null>): Promise<Result | null>

  /**
   * Does what an address may not have refused to it often.
   *
   * @param work throws when it refuses
   * @throws `RATE_LIMITED`
   */
  fromAddress<Result>(actor: Actor, work: () => Promise<Result>): Promise<Result>

  /** Puts down in the audit that somebody was not let in: so many in a window, and then that more were. */
  noteRefused(actor: Actor, reason: string): Promise<void>
}

const tooMany = (secondsLeft: number) => {
  const minutes = Math.ceil(secondsLeft / 60)
  return new GatewayError(
    'RATE_LIMITED',
    `There were too many attempts to sign in. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    { retryAfter: secondsLeft },
  )
}

/** Counts in memory: each instance counts for itself. */
export function createLoginThrottle(sql: Pool): LoginThrottle {
  const limiter = (keyPrefix: string, points: number) => new RateLimiterMemory({ keyPrefix, points, duration: window })
  const accounts = limiter('account', limits.account)
  const owners = limiter('owner', limits.account)
  const addresses = limiter('address', limits.address)
  const entries = limiter('entries', limits.entries)

  async function noteRefused(actor: Actor, reason: string): Promise<void> {
    const { consumedPoints } = await entries.penalty('all')
    if (consumedPoints <= limits.entries) return recordFailedSignIn(sql, actor, reason)
    if (consumedPoints === limits.entries + 1) {
      const service = { name: 'service', address: null }
      await recordFailedSignIn(sql, service, `too many to put down: more are left out for up to ${window / 60} minutes`)
    }
  }

  async function spend(points: RateLimiterMemory, key: string, actor: Actor): Promise<void> {
    try {
      await points.consume(key)
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      // The first one of a window is put down, and not the thousands that may follow.
      if (refusal.consumedPoints === points.points + 1) await noteRefused(actor, 'too many attempts')
      throw tooMany(Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)))
    }
  }

  /** @param giveBack takes the attempt back: nothing was looked at */
  async function look<Result>(actor: Actor, check: () => Promise<Result | null>, giveBack: () => Promise<unknown>) {
    const result = await check().catch(async error => {
      await giveBack()
      throw error
    })
    if (result === null) await noteRefused(actor, 'wrong password')
    return result
  }

  return {
    noteRefused,

    async signIn(actor, check) {
      const network = networkOf(actor.address ?? '')
      await spend(addresses, network, actor)
      await spend(accounts, actor.name, actor)
      const result = await look(actor, check, () =>
        Promise.all([accounts.reward(actor.name), addresses.reward(network)]),
      )
      if (result !== null) await Promise.all([accounts.delete(actor.name), addresses.reward(network)])
      return result
    },

    async confirm(administratorId, actor, check) {
      const key = String(administratorId)
      await spend(owners, key, actor)
      const result = await look(actor, check, () => owners.reward(key))
      if (result !== null) await owners.delete(key)
      return result
    },

    async fromAddress(actor, work) {
      const network = networkOf(actor.address ?? '')
      await spend(addresses, network, actor)
      const result = await work()
      await addresses.reward(network)
      return result
    },
  }
}

/** @returns of an IPv6 address its /64, all of which one subscriber has (RFC 6177); any other as it is */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [bare] = address.split('%', 1)
  const [before, after] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (part = '') => part.split(':').filter(group => group !== '')
  const [first, last] = [groupsOf(before), groupsOf(after)]
  const zeros = Array<string>(8 - first.length - last.length).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
