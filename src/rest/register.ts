/** Serves a version of REST. Knows no version. */
import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type FieldErrors, GatewayError } from '../domain/errors.ts'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import { createContext, type Gateway } from '../graphql/context.ts'
import type { Authenticate } from '../http/caller.ts'
import { sendError, toGatewayError, toMessageBody } from '../http/errors.ts'
import { requireJsonHeaders } from '../http/headers.ts'
import { registerNotFound } from '../http/not-found.ts'
import type { RestOperation } from './operation.ts'

/** A version of REST. */
export interface RestVersion {
  /** Where it begins: `/api/external/v1`. */
  path: string
  operations: readonly RestOperation[]
}

/** The longest body that is read, in bytes (R9). */
const bodyLimit = 64 * 1024

/**
 * Registers the operations of a version. In R1's order, this checks the token, the rate and the headers; the schema
 * checks the rest, from the tenant to the record.
 */
export function registerRest(
  app: FastifyInstance,
  gateway: Gateway,
  authenticate: Authenticate,
  { path: prefix, operations }: RestVersion,
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
      for (const operation of operations) {
        registerOperation(scope, gateway, operation)
        refuseOtherMethods(scope, operation)
      }
    },
    { prefix },
  )
}

function registerOperation(
  scope: FastifyInstance,
  gateway: Gateway,
  { name, method, path, run, read, argumentNames }: RestOperation,
): void {
  scope.route({
    method,
    url: path,
    config: { operation: name },
    exposeHeadRoute: false,
    onRequest: (request, _reply, done) => {
      requireJsonHeaders(request, method === 'POST')
      done()
    },
    handler: (request, reply) => {
      const { variables, fieldErrors } = read(request)
      return mapMaybePromise(run(createContext(gateway, request.caller, fieldErrors), variables), body =>
        reply.type('application/json; charset=utf-8').send(body),
      )
    },
    errorHandler: (error, request, reply) =>
      sendError(request, reply, renameFields(toGatewayError(error), argumentNames), toMessageBody),
  })
}

/** Answers other methods of the path with 405 (R8). */
function refuseOtherMethods(scope: FastifyInstance, { method, path }: RestOperation): void {
  scope.route({
    method: scope.supportedMethods.filter(other => other !== method),
    url: path,
    // Not in the handler: that runs after the body is read, which can fail first.
    onRequest: async (_request, reply) => {
      reply.header('Allow', method)
      throw new GatewayError('METHOD_NOT_ALLOWED', `Only ${method} is allowed here.`)
    },
    handler: () => {},
  })
}

/** Returns the error with its field errors under the names that the version gives the arguments of the schema. */
function renameFields(error: GatewayError, argumentNames: RestOperation['argumentNames']): GatewayError {
  if (!error.fieldErrors) return error
  const fieldErrors: FieldErrors = {}
  for (const [name, sentences] of Object.entries(error.fieldErrors)) {
    fieldErrors[argumentNames.get(name) ?? name] = sentences
  }
  return new GatewayError(error.code, error.message, { fieldErrors })
}
