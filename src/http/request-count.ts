import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestCounter, RequestError } from '../domain/request-count.ts'

/** All that a token is told when it no longer holds is that it is not valid; who answers for it may know more. */
const ended: Record<'expired' | 'revoked', RequestError> = {
  expired: { code: 'UNAUTHENTICATED', reason: 'The token has expired.' },
  revoked: { code: 'UNAUTHENTICATED', reason: 'The token is revoked.' },
}

/**
 * Counts every request that has a token of ours, one that holds or one that no longer does, with its route's
 * `operation`, its status, and what was noted of its refusals. Registered before the doors.
 */
export function registerRequestCounts(app: FastifyInstance, usage: RequestCounter): void {
  app.decorateRequest('bearer')
  app.decorateRequest('refusals')
  // Not when the answer is sent: of a client that has hung up that is never heard.
  app.addHook('onSend', (request, reply, payload, done) => {
    const { bearer, refusals = [], routeOptions } = request
    if (bearer && bearer.status !== 'unknown') {
      const { operation = 'unknown' } = routeOptions.config
      const told = bearer.status === 'active' ? refusals : [ended[bearer.status]]
      usage.count(bearer.token.id, operation, reply.statusCode, told)
    }
    done(null, payload)
  })
}

/** Notes that the request, or a part of it, is refused; the same refusal again adds nothing. */
export function recordError(request: FastifyRequest, { code, reason }: RequestError): void {
  request.refusals ??= []
  if (request.refusals.some(known => known.code === code && known.reason === reason)) return
  request.refusals.push({ code, reason })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What was refused of it so far. */
    refusals?: RequestError[]
  }
  interface FastifyContextConfig {
    /** What requests of the route are counted as. */
    operation?: string
  }
}
