import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import { unavailable } from './errors.ts'

/**
 * Refuses each request whose answer has not begun in time, its body's arrival included: `TOO_SLOW` when the body is
 * not there, for then the caller was slow, else `UNAVAILABLE`. What a handler says after that is not sent.
 *
 * Fastify's own `handlerTimeout` will not do: it ends its watch as soon as a body has been read (fastify#6725).
 *
 * @param milliseconds how long a request may take
 */
export function keepDeadline(app: FastifyInstance, milliseconds: number): void {
  app.decorateRequest('deadline')
  app.addHook('onRequest', (request, reply, done) => {
    request.deadline = setTimeout(() => {
      // Nobody is there to be told.
      if (reply.sent || reply.raw.destroyed) return
      const { complete, readableFlowing } = request.raw
      // A body that nobody has begun to read waits for the service.
      const served = complete || readableFlowing === null
      reply.send(served ? unavailable(new Error(`no answer in ${milliseconds} ms`)) : tooSlow())
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
    /** Runs until its answer begins. */
    deadline?: NodeJS.Timeout
  }
}
