import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import { unavailable } from './errors.ts'

/**
 * Answers each request whose response has not begun in time: with `TOO_SLOW` when its body has not arrived, because then
 * the caller was slow, and with `UNAVAILABLE` otherwise. A later result of the handler is discarded.
 *
 * Fastify's `handlerTimeout` cannot do this: its timer stops as soon as a body has been read (fastify#6725).
 *
 * @param milliseconds how long a request may take, including the arrival of its body
 */
export function enforceDeadline(app: FastifyInstance, milliseconds: number): void {
  app.decorateRequest('deadline')
  app.addHook('onRequest', (request, reply, done) => {
    request.deadline = setTimeout(() => {
      if (reply.sent || reply.raw.destroyed) return
      const { complete, readableFlowing } = request.raw
      // When no handler has begun to read the body, the service is late, and not the caller.
      const callerIsDone = complete || readableFlowing === null
      reply.send(callerIsDone ? unavailable(new Error(`no answer in ${milliseconds} ms`)) : tooSlow())
    }, milliseconds).unref()
    done()
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    clearTimeout(request.deadline)
    done(null, payload)
  })
}

const tooSlow = () => new GatewayError('TOO_SLOW', 'The request took too long to arrive.')

declare module 'fastify' {
  interface FastifyRequest {
    /** Runs until the response begins. */
    deadline?: NodeJS.Timeout
  }
}
