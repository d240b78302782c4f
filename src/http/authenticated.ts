/** Registers the routes of REST and of the bulk export, whose callers send a bearer token. */
import { METHODS } from 'node:http'
import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { Authenticate } from './caller.ts'
import { readTextBodies } from './text-body.ts'
import { registerNotFound } from './unknown-paths.ts'

/** The maximum size of a body that is read, in bytes (R9). */
export const bodyLimit = 64 * 1024

/**
 * Registers routes below a path. Each request is authenticated first, even a request with an unknown path or method
 * (R8).
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
      readTextBodies(scope, '*', bodyLimit)
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

/**
 * Answers a request with 405 when the path exists but has no such method (R8).
 *
 * @param config the configuration of the route
 */
export function refuseOtherMethods(
  scope: FastifyInstance,
  path: string,
  methods: readonly string[],
  config: FastifyContextConfig = {},
): void {
  scope.route({
    method: scope.supportedMethods.filter(method => !methods.includes(method)),
    url: path,
    config,
    // A hook answers and not the handler, because the handler runs only after the body is read, and reading the body
    // can fail.
    onRequest: async (_request, reply) => {
      reply.header('Allow', methods.join(', '))
      const allowed = `${methods.join(' and ')} ${methods.length === 1 ? 'is' : 'are'}`
      throw new GatewayError('METHOD_NOT_ALLOWED', `Only ${allowed} allowed here.`)
    },
    handler: () => {},
  })
}
