import type { FastifyInstance } from 'fastify'
import { notFound } from '../domain/errors.ts'

/** Answers unknown paths (R8) before their bodies are read, which might be refused for themselves. */
export function refuseUnknownPaths(scope: FastifyInstance): void {
  const refuse = () => {
    throw notFound('path')
  }
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) refuse()
    done()
  })
  scope.setNotFoundHandler(refuse)
}
