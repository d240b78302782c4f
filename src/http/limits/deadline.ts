import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isOutage } from '../../db/connection/outage.ts'
import { CallerGoneError } from '../../db/statement/statement.ts'
import { GatewayError } from '../../domain/errors.ts'
import { unavailable } from '../errors.ts'
import { hasBody } from '../text-body.ts'
import type { requestDeadlines } from './timeouts.ts'

/**
 * Answers a request when its response has not begun in time. The answer is `TOO_SLOW` when the body of the request has
 * not arrived, because then the caller is slow, and otherwise `UNAVAILABLE`. A later result of the handler is
 * discarded.
 *
 * Fastify's `handlerTimeout` is not used, because its timer stops as soon as the body has been read (fastify#6725).
 */
export function enforceDeadline(app: FastifyInstance, { answer, body }: typeof requestDeadlines): void {
  app.decorateRequest('deadline')
  const fail = (reply: FastifyReply, error: GatewayError) => {
    // Node destroys only the response that is next on the connection.
    if (reply.sent || reply.request.raw.socket.destroyed) return
    reply.send(error)
    reply.log = logLateResults(app, reply)
  }
  const giveUp = (reply: FastifyReply) => fail(reply, unavailable(new Error(`no answer in ${answer} ms`)))
  /** When the service has not begun to read the body, the service and not the caller is too slow. */
  const awaitBody = (request: FastifyRequest, reply: FastifyReply) => {
    const { complete, readableFlowing } = request.raw
    if (complete || readableFlowing === null) giveUp(reply)
    else request.deadline = setTimeout(fail, body - answer, reply, tooSlow()).unref()
  }
  app.addHook('onRequest', (request, reply, done) => {
    request.deadline = hasBody(request)
      ? setTimeout(awaitBody, answer, request, reply).unref()
      : setTimeout(giveUp, answer, reply).unref()
    done()
  })
  // Fastify calls this hook when the body has been read.
  app.addHook('preValidation', (request, reply, done) => {
    if (hasBody(request) && !reply.sent) {
      clearTimeout(request.deadline)
      request.deadline = setTimeout(giveUp, answer, reply).unref()
    }
    done()
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    clearTimeout(request.deadline)
    done(null, payload)
  })
}

/** Counts an error that is thrown after the answer like other failures. Fastify would write a line with the stack. */
const logLateResults = ({ failureLog }: FastifyInstance, { log, request }: FastifyReply): FastifyBaseLogger =>
  Object.assign(Object.create(log), {
    warn() {},
    error({ err }: { err: unknown }) {
      // The deadline has answered the request, so the remaining statements of the request are not sent.
      if (err instanceof CallerGoneError) return
      failureLog.report({ error: err, message: 'failed late', kind: isOutage(err) ? 'outage' : 'fault', request })
    },
  })

/** The error of a request whose body did not arrive in time. */
export const tooSlow = () => new GatewayError('TOO_SLOW', 'The request took too long to arrive.')

declare module 'fastify' {
  interface FastifyRequest {
    /** The timer of the deadline, which runs until the response begins. */
    deadline?: NodeJS.Timeout
  }
}
