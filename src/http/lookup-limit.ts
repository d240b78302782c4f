import { LRUCache } from 'lru-cache'
import { rateLimited } from '../domain/errors.ts'
import { hashSecret } from '../domain/secret/hash.ts'
import { networkOf } from './client-address.ts'

/**
 * The number of unknown tokens that a network may send in a window. Then further look-ups for this network are refused.
 */
const maxUnknown = 100
const windowMs = 10_000

/** The time for which a known token is exempt from the limit of its network, in milliseconds. */
const foundMs = 60 * 60_000

/** The maximum number of networks and tokens that are remembered. */
const maxRemembered = 10_000

/**
 * Limits the look-ups of unknown tokens per network, with counts in memory. Each look-up costs a statement, so a flood
 * of look-ups would slow down all other calls. A secret that was found within the last hour is exempt, so a flood does
 * not stop other callers in the same network.
 */
export function createLookupLimit() {
  const unknown = new LRUCache<string, { count: number }>({ max: maxRemembered, ttl: windowMs })
  const found = new LRUCache<string, true>({ max: maxRemembered, ttl: foundMs })
  const keyOf = (secret: string) => hashSecret(secret).toString('base64')
  return {
    /** @throws `RATE_LIMITED` when the network has sent too many unknown tokens, and this token was not found before */
    check(address: string, secret: string): void {
      const network = networkOf(address)
      const window = unknown.get(network)
      if (!window || window.count < maxUnknown || found.has(keyOf(secret))) return
      throw rateLimited(Math.max(1, Math.ceil(unknown.getRemainingTTL(network) / 1000)))
    },
    record(address: string, secret: string, wasFound: boolean): void {
      if (wasFound) {
        found.set(keyOf(secret), true)
        return
      }
      const network = networkOf(address)
      const window = unknown.get(network)
      if (window) window.count++
      else unknown.set(network, { count: 1 })
    },
  }
}
