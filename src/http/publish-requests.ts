import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type RequestWork, requestChannel } from '../channels.ts'
import { clientClosedRequest, errorsOf } from './request-count.ts'

/**
 * Publishes each request on its channel. Must be registered before all other hooks, which then run in its async
 * context.
 */
export function publishRequests(app: FastifyInstance): void {
  app.decorateRequest('inContext')
  app.decorateRequest('countedAs')
  app.addHook('onRequest', (request, reply, done) => {
    if (!requestChannel.hasSubscribers) {
      done()
      return
    }
    const { method, headers, routeOptions } = request
    const { url: route, config } = routeOptions
    const work: RequestWork = { method, route, operation: config.operation ?? route ?? 'unknown', headers }
    // The hook `onResponse` is not used: Fastify does not call it when the client has closed the connection.
    reply.raw.on('close', () => publishEnd(work, request, reply))
    requestChannel.start.runStores(work, () => {
      if (requestChannel.start.hasSubscribers) request.inContext = AsyncLocalStorage.snapshot()
      done()
    })
  })
  // Restores the async context of the request, because a body arrives in the context of its connection.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.inContext) request.inContext(done)
    else done()
  })
}

function publishEnd(work: RequestWork, request: FastifyRequest, reply: FastifyReply): void {
  const { bearer, caller } = request
  const errors = errorsOf(request)
  if (request.countedAs !== undefined) work.operation = request.countedAs
  work.status = reply.raw.headersSent ? reply.statusCode : clientClosedRequest
  work.seconds = reply.elapsedTime / 1000
  if (errors.length > 0) work.errors = new Set(errors.map(({ code }) => code))
  if (bearer?.status === 'active') work.quota = quotaOf(caller)
  requestChannel.asyncEnd.publish(work)
}

/**
 * Returns the quota units of a request. A request with an active token but without a caller was refused at its first
 * unit.
 */
const quotaOf = (caller: FastifyRequest['caller'] | undefined) =>
  caller
    ? { spent: Math.max(1, caller.cost - caller.rejectedCost), refused: caller.rejectedCost }
    : { spent: 0, refused: 1 }

declare module 'fastify' {
  interface FastifyRequest {
    /** Runs a function in the async context of the request. Defined only when the service makes traces. */
    inContext?: <Result>(run: () => Result) => Result
    /** The name of the operation in the metrics, when the route has several operations. */
    countedAs?: string
  }
}
