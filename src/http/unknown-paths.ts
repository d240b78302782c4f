import type { FastifyInstance } from 'fastify'
import { notFound } from '../domain/errors.ts'

/**
 * Answers unknown paths with 404 (R8). Answers before the body is read, because an invalid body would give another
 * error.
 *
 * @param noun the noun in the message
 */
export function registerNotFound(scope: FastifyInstance, noun = 'path'): void {
  const throwNotFound = () => {
    throw notFound(noun)
  }
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) throwNotFound()
    done()
  })
  scope.setNotFoundHandler(throwNotFound)
}
