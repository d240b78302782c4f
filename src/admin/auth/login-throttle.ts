import { refusedSignInChannel } from '../../channels.ts'
import type { Pool } from '../../db/sql.ts'
import { recordFailedSignIn } from '../../domain/administrator/administrator-password.ts'
import type { Actor } from '../../domain/administrator/audit.ts'
import { GatewayError } from '../../domain/errors.ts'
import { secondsLeft } from '../../domain/rate/rate.ts'
import { type AttemptCounter, createAttemptCounter } from '../../domain/rate/table.ts'
import { networkOf } from '../../http/client-address.ts'

/** The maximum numbers in one window: failed attempts per account and per address, and audit entries in total. */
const limits = { account: 5, address: 20, entries: 100 }
const windowSeconds = 15 * 60

export type LoginThrottle = ReturnType<typeof createLoginThrottle>

const tooManyAttempts = (seconds: number) => {
  const minutes = Math.ceil(seconds / 60)
  return new GatewayError(
    'RATE_LIMITED',
    `There were too many attempts to sign in. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    { retryAfter: seconds },
  )
}

/**
 * Limits failed sign-ins, with counts in the database for all instances of the service. An attempt is counted before
 * the password is compared, so that a burst cannot exceed the limit. The count of a successful attempt is taken back.
 */
export function createLoginThrottle(sql: Pool) {
  const counter = (kind: string, limit: number) => createAttemptCounter(sql, `login ${kind}`, limit, windowSeconds)
  const accounts = counter('account', limits.account)
  const owners = counter('owner', limits.account)
  const addresses = counter('address', limits.address)
  const entries = counter('entries', limits.entries)

  /** Records a failed sign-in in the audit, up to 100 in a window. One last entry then says that more are left out. */
  async function recordFailure(actor: Actor, reason: string): Promise<void> {
    const { used } = await entries.hit('all')
    if (used <= limits.entries) return recordFailedSignIn(sql, actor, reason)
    if (used === limits.entries + 1) {
      const service = { name: 'service', address: null }
      await recordFailedSignIn(
        sql,
        service,
        `too many to record: more are left out for up to ${windowSeconds / 60} minutes`,
      )
    }
  }

  async function consume(attempts: AttemptCounter, key: string, actor: Actor): Promise<void> {
    const window = await attempts.hit(key)
    if (window.used <= attempts.limit) return
    refusedSignInChannel.publish({ reason: 'too_many_attempts' })
    // Only the first rejected attempt of a window is recorded, because thousands may follow.
    if (window.used === attempts.limit + 1) await recordFailure(actor, 'too many attempts')
    throw tooManyAttempts(secondsLeft(window))
  }

  /** @param refund called when the check throws, because the password was not compared then */
  async function attempt<Result>(actor: Actor, check: () => Promise<Result | null>, refund: () => Promise<unknown>) {
    const result = await check().catch(async error => {
      await refund()
      throw error
    })
    if (result === null) {
      refusedSignInChannel.publish({ reason: 'wrong_password' })
      await recordFailure(actor, 'wrong password')
    }
    return result
  }

  return {
    recordFailure,

    /**
     * Checks the password of an account. A failure is recorded in the audit.
     *
     * @param actor the account and the address of the attempt
     * @param check returns null when the password is wrong
     * @throws `RATE_LIMITED`
     */
    async signIn<Result>(actor: Actor, check: () => Promise<Result | null>): Promise<Result | null> {
      const network = networkOf(actor.address ?? '')
      await consume(addresses, network, actor)
      await consume(accounts, actor.name, actor)
      const result = await attempt(actor, check, () =>
        Promise.all([accounts.refund(actor.name), addresses.refund(network)]),
      )
      if (result !== null) await Promise.all([accounts.clear(actor.name), addresses.refund(network)])
      return result
    },

    /**
     * Checks the password of the signed-in administrator. These attempts are counted separately, so that failed
     * sign-ins of other people do not lock out the owner of the account.
     */
    async confirm<Result>(administratorId: number, actor: Actor, check: () => Promise<Result | null>) {
      const key = String(administratorId)
      await consume(owners, key, actor)
      const result = await attempt(actor, check, () => owners.refund(key))
      if (result !== null) await owners.clear(key)
      return result
    },

    /**
     * Runs work, and limits how often it may fail for one address.
     *
     * @param work throws when it fails
     * @throws `RATE_LIMITED`
     */
    async fromAddress<Result>(actor: Actor, work: () => Promise<Result>): Promise<Result> {
      const network = networkOf(actor.address ?? '')
      await consume(addresses, network, actor)
      const result = await work()
      await addresses.refund(network)
      return result
    },
  }
}
