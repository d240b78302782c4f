/** Serves any version of REST. */
import type { FastifyInstance } from 'fastify'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { type FieldErrors, GatewayError } from '../domain/errors.ts'
import { createContext, type Gateway } from '../graphql/context.ts'
import { refuseOtherMethods, registerAuthenticated } from '../http/authenticated.ts'
import type { Authenticate } from '../http/caller.ts'
import { sendError, toGatewayError, toMessageBody } from '../http/errors.ts'
import { requireJsonHeaders } from '../http/headers.ts'
import type { RestOperation } from './operation.ts'

export interface RestVersion {
  /** The base path of the version: `/api/external/v1`. */
  path: string
  operations: readonly RestOperation[]
}

/**
 * Registers the operations of a version. The token, the rate and the headers are checked here, in the order of R1. The
 * schema makes the later checks, from the tenant to the record.
 */
export function registerRest(
  app: FastifyInstance,
  gateway: Gateway,
  authenticate: Authenticate,
  { path: prefix, operations }: RestVersion,
): void {
  registerAuthenticated(app, prefix, authenticate, scope => {
    for (const operation of operations) {
      registerOperation(scope, gateway, operation)
      refuseOtherMethods(scope, operation.path, [operation.method])
    }
  })
}

function registerOperation(
  scope: FastifyInstance,
  gateway: Gateway,
  { name, method, path, run, input, argumentNames }: RestOperation,
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
      const fieldErrors: FieldErrors = {}
      const variables = input.read(request, fieldErrors)
      return mapMaybePromise(run(createContext(gateway, request.caller, fieldErrors), variables), body =>
        reply.type('application/json; charset=utf-8').send(body),
      )
    },
    errorHandler: (error, request, reply) =>
      sendError(request, reply, renameFields(toGatewayError(error), argumentNames), toMessageBody),
  })
}

/** Returns the error with its field errors under the version's names for the arguments of the schema. */
export function renameFields(error: GatewayError, argumentNames: RestOperation['argumentNames']): GatewayError {
  if (!error.fieldErrors) return error
  const fieldErrors: FieldErrors = {}
  for (const [name, sentences] of Object.entries(error.fieldErrors)) {
    fieldErrors[argumentNames.get(name) ?? name] = sentences
  }
  return new GatewayError(error.code, error.message, { fieldErrors })
}
