import type { FastifyInstance } from 'fastify'
import { notFound } from '../domain/errors.ts'

/** Answers unknown paths (R8) before their bodies are read, which might be refused for themselves. */
export function refuseUnknownPaths(scope: FastifyInstance): void {
  const refuse = async () => {
    throw notFound('path')
  }
  scope.addHook('onRequest', async request => {
    if (request.is404) await refuse()
  })
  scope.setNotFoundHandler(refuse)
}
