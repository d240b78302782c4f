import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestCounter, RequestError } from '../domain/token/request-count.ts'

/**
 * The errors in the counts for tokens that are not active. The response only says that the token is not valid, but the
 * counts name the reason.
 */
const inactiveTokenErrors: Record<'expired' | 'revoked', RequestError> = {
  expired: { code: 'UNAUTHENTICATED', reason: 'The token has expired.' },
  revoked: { code: 'UNAUTHENTICATED', reason: 'The token is revoked.' },
}

/** The status, in counts only, of a request whose client disconnected before the answer, as in logs of proxies. */
export const clientClosedRequest = 499

/**
 * Counts each request that has a token of this service, active or not, with its route's `operation`, its status and its
 * errors. A request that fails because its client disconnected is counted without an error. Must be registered before
 * the transports.
 */
export function registerRequestCounts(app: FastifyInstance, counter: RequestCounter): void {
  app.decorateRequest('bearer')
  app.decorateRequest('errors')
  // The hook `onResponse` is not used: Fastify does not call it when the client has closed the connection.
  app.addHook('onSend', (request, reply, payload, done) => {
    const { bearer, routeOptions } = request
    if (bearer && bearer.status !== 'unknown') {
      const { operation = 'unknown' } = routeOptions.config
      const errors = errorsOf(request)
      const isAbandoned = reply.raw.destroyed && errors.some(({ code }) => code === 'UNAVAILABLE')
      if (isAbandoned) counter.count(bearer.token.id, operation, clientClosedRequest, [])
      else counter.count(bearer.token.id, operation, reply.statusCode, errors)
    }
    done(null, payload)
  })
}

/**
 * Returns the errors of a request as the page of the token shows them. For a 401, this is the reason why the token is
 * not active.
 */
export function errorsOf({ bearer, errors = [] }: FastifyRequest): readonly RequestError[] {
  const status = bearer?.status
  return status === 'expired' || status === 'revoked' ? [inactiveTokenErrors[status]] : errors
}

/** Records an error of the request, or of a part of the request. An error that is already recorded is ignored. */
export function recordError(request: FastifyRequest, { code, reason }: RequestError): void {
  request.errors ??= []
  if (request.errors.some(error => error.code === code && error.reason === reason)) return
  request.errors.push({ code, reason })
}

declare module 'fastify' {
  interface FastifyRequest {
    errors?: RequestError[]
  }
  interface FastifyContextConfig {
    /** The name under which requests of the route are counted. */
    operation?: string
  }
}
