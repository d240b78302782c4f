import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'

/**
 * Returns the request's own id, or a new UUID when it has none or an invalid one (R17).
 *
 * @param given the header `X-Request-Id`
 */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Writes the headers that every response has (R17). */
export function nameResponses(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id).header('Cache-Control', 'private, no-store')
    done()
  })
}
