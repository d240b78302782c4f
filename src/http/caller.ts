import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../domain/caller.ts'
import { rateLimited, unauthenticated } from '../domain/errors.ts'
import type { RateBudget, RateWindow } from '../domain/rate.ts'
import type { TokenDirectory, TokenLookup } from '../domain/token-directory.ts'

/** A hook of the doors: makes the caller of a request known, and counts the request. A refusal may be thrown at once. */
export type Authenticate = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/**
 * The first two steps of every request (R1): whose token it is, and whether its rate has any left (R28).
 *
 * @param defaultRate of tokens that have no limit of their own
 * @returns a function that throws `UNAUTHENTICATED` or `RATE_LIMITED`, and writes the rate's headers (R29)
 */
export function createAuthenticate(tokens: TokenDirectory, defaultRate: RateBudget): Authenticate {
  async function admit(request: FastifyRequest, reply: FastifyReply, found: TokenLookup): Promise<void> {
    request.bearer = found
    if (found.status !== 'active') throw unauthenticated()
    const { token } = found
    const address = clientAddress(request)
    tokens.recordUse(token, address)
    const rateKey = `${token.id} ${address}`
    const { counter } = defaultRate
    const rate = token.rateLimit === null ? defaultRate : { limit: token.rateLimit, counter }
    const window = await counter.hit(rateKey)
    writeRate(reply, rate.limit, window)
    if (window.used > rate.limit) throw rateLimited(Math.ceil(window.resetsIn / 1000))
    request.caller = { token, address, requestId: request.id, rate, rateKey, operations: 0 }
  }

  return (request, reply) => {
    const secret = bearerSecret(request.headers.authorization)
    if (secret === null) throw unauthenticated()
    const found = tokens.find(secret)
    return found instanceof Promise ? found.then(later => admit(request, reply, later)) : admit(request, reply, found)
  }
}

/** Writes how the caller's window stands (R29). */
export function writeRate(reply: FastifyReply, limit: number, { used, resetsIn }: RateWindow): void {
  reply.header('RateLimit-Limit', limit)
  reply.header('RateLimit-Remaining', Math.max(0, limit - used))
  reply.header('RateLimit-Reset', Math.ceil(resetsIn / 1000))
}

/** The secret in `Authorization: Bearer …` (RFC 6750 §2.1; the scheme's name in any case), or null. */
function bearerSecret(header: string | undefined): string | null {
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? null
}

/**
 * The caller's address: the socket's, or what a trusted proxy says (R30). A forwarded value that is no address is
 * not believed. An IPv4 address is the same caller whether or not the socket maps it into IPv6.
 */
export function clientAddress(request: FastifyRequest): string {
  // Fastify reads the whole list of forwarded addresses each time.
  const { ip } = request
  const address = isIP(ip) ? ip : (request.socket.remoteAddress ?? '')
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; there once the request is authenticated. */
    caller: Caller
    /** What was found behind the secret, when one was sent and could be looked up. */
    bearer?: TokenLookup
  }
}
