/** Routes whose callers send a bearer token, as REST and the bulk export have them. */
import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { Authenticate } from './caller.ts'
import { registerNotFound } from './not-found.ts'

/** The longest body that is read, in bytes (R9). */
export const bodyLimit = 64 * 1024

/**
 * Registers routes below a path. Each request is authenticated first, also one of an unknown path or method (R8).
 *
 * @param prefix the path, without a slash at its end
 * @param addRoutes registers the routes; their bodies arrive as text
 */
export function registerAuthenticated(
  app: FastifyInstance,
  prefix: string,
  authenticate: Authenticate,
  addRoutes: (scope: FastifyInstance) => void,
): void {
  app.register(
    async scope => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit }, (_request, body, done) => done(null, body))
      scope.addHook('onRequest', authenticate)
      registerNotFound(scope)
      for (const method of METHODS) {
        if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
      }
      addRoutes(scope)
    },
    { prefix },
  )
}

/** Answers other methods of a path with 405 (R8). */
export function refuseOtherMethods(scope: FastifyInstance, { method, path }: { method: string; path: string }): void {
  scope.route({
    method: scope.supportedMethods.filter(other => other !== method),
    url: path,
    // This is not in the handler, because the handler runs after the body is read, which can fail first.
    onRequest: async (_request, reply) => {
      reply.header('Allow', method)
      throw new GatewayError('METHOD_NOT_ALLOWED', `Only ${method} is allowed here.`)
    },
    handler: () => {},
  })
}
