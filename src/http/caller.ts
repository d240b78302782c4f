import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { rateLimited, unauthenticated } from '../domain/errors.ts'
import { callsLeft, type RateBudget, type RateWindow, secondsLeft } from '../domain/rate/rate.ts'
import type { Caller } from '../domain/token/caller.ts'
import type { TokenDirectory, TokenLookup } from '../domain/token/directory.ts'
import { clientAddress } from './client-address.ts'
import { createLookupLimit } from './lookup-limit.ts'

/**
 * A hook that sets `request.caller`. The hook returns no promise when the token is cached and the rate is counted in
 * memory.
 */
export type Authenticate = onRequestHookHandler

/**
 * Creates the hook that makes the first two steps of every request (R1). The hook looks up the token, and counts the
 * request against the token's rate limit (R28).
 *
 * @param defaultRate the rate of tokens without their own limit
 * @returns a hook that throws `UNAUTHENTICATED` or `RATE_LIMITED`, and writes the rate headers (R29)
 */
export function createAuthenticate(tokens: TokenDirectory, defaultRate: RateBudget): Authenticate {
  const lookups = createLookupLimit()

  function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    secret: string,
    lookup: TokenLookup,
  ): void | Promise<void> {
    request.bearer = lookup
    if (lookup.status !== 'active') throw unauthenticated()
    const { token } = lookup
    const address = clientAddress(request)
    tokens.recordUse(token, address)
    const rateKey = `${token.id} ${address}`
    const { counter } = defaultRate
    const rate = token.rateLimit === null ? defaultRate : { limit: token.rateLimit, counter }
    return mapMaybePromise(counter.hit(rateKey, 1, rate.limit), window => {
      writeRateHeaders(reply, rate.limit, window)
      if (window.used > rate.limit) throw rateLimited(secondsLeft(window))
      request.caller = {
        token,
        lookUp: () => tokens.find(secret),
        address,
        requestId: request.id,
        rate,
        rateKey,
        window,
        isWaiting: createIsWaiting(reply),
        cost: 0,
        rejectedCost: 0,
        requestedCost: 1,
      }
    })
  }

  async function lookUp(request: FastifyRequest, reply: FastifyReply, secret: string): Promise<void> {
    const address = clientAddress(request)
    lookups.check(address, secret)
    const lookup = await tokens.find(secret)
    lookups.record(address, secret, lookup.status !== 'unknown')
    await admit(request, reply, secret, lookup)
  }

  return (request, reply, done) => {
    const secret = bearerSecret(request.headers.authorization)
    if (secret === null) throw unauthenticated()
    const known = tokens.peek(secret)
    const admitted = known ? admit(request, reply, secret, known) : lookUp(request, reply, secret)
    if (admitted) admitted.then(() => done(), done)
    else done()
  }
}

/** Writes the headers that describe the caller's rate window (R29). */
export function writeRateHeaders(reply: FastifyReply, limit: number, window: RateWindow): void {
  reply.header('RateLimit-Limit', limit)
  reply.header('RateLimit-Remaining', callsLeft(limit, window))
  reply.header('RateLimit-Reset', secondsLeft(window))
}

/** Returns a function that tells whether the caller still waits for an answer. */
export function createIsWaiting({ raw, request }: FastifyReply): () => boolean {
  const { socket } = request.raw
  // Node destroys a response only when all earlier responses on its connection have been sent.
  return () => !raw.writableEnded && !socket.destroyed
}

/**
 * Returns the secret in `Authorization: Bearer …` (RFC 6750 §2.1; upper and lower case of the scheme's name are the
 * same), or null.
 */
export function bearerSecret(header: string | undefined): string | null {
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, set when the request has been authenticated. */
    caller: Caller
    /** The result of the token lookup; undefined when the request has no secret. */
    bearer?: TokenLookup
  }
}
