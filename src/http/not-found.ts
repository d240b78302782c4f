import type { FastifyInstance } from 'fastify'
import { notFound } from '../domain/errors.ts'

/** Answers unknown paths with 404 (R8) before the body is read, because an invalid body has an error of its own. */
export function registerNotFound(scope: FastifyInstance): void {
  const throwNotFound = () => {
    throw notFound('path')
  }
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) throwNotFound()
    done()
  })
  scope.setNotFoundHandler(throwNotFound)
}
