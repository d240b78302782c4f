import type { FastifyRequest } from 'fastify'
import { GraphQLError, type GraphQLErrorExtensions } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GatewayError } from '../domain/errors.ts'
import { type RequestError, toRequestError } from '../domain/request-count.ts'
import { statusOf, toGatewayError } from '../http/errors.ts'
import { recordError } from '../http/request-count.ts'

/** @returns the extensions of a GraphQL error, for programs */
const toExtensions = ({ code, fieldErrors }: GatewayError) => (fieldErrors ? { code, errors: fieldErrors } : { code })

/** @returns the body of a response to a request that fails as a whole */
export const toErrorsBody = (error: GatewayError) => ({
  errors: [{ message: error.message, extensions: toExtensions(error) }],
})

/** The most characters of a message of graphql-js that are shown: it quotes the caller's text, of any length. */
const longestMessage = 200

/** @returns the message, with its middle left out when it is long */
const shorten = (message: string): string =>
  message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 60)} … ${message.slice(-50)}`

/**
 * Masks an error that Yoga or graphql-js reports (R18). Errors of the gateway and of graphql-js are shown to the caller;
 * any other becomes `INTERNAL` or `UNAVAILABLE`, without its message.
 *
 * @returns an error that may be shown
 */
export function maskError(error: unknown): GraphQLError {
  const origin = originalErrorOf(error)
  if (error instanceof GraphQLError && origin instanceof GraphQLError) {
    const { code = 'BAD_USER_INPUT', http = { status: 400, spec: true } } = error.extensions
    return shownAs(error, shorten(error.message), { code }, http)
  }
  const gatewayError = toGatewayError(origin)
  const http = { status: statusOf[gatewayError.code], spec: true }
  const shown = shownAs(error, gatewayError.message, toExtensions(gatewayError), http)
  if (gatewayError.code === 'INTERNAL' || gatewayError.code === 'UNAVAILABLE') causes.set(shown, gatewayError.cause)
  return shown
}

/** The causes of the service's own errors, by the error that is shown: for the log only. */
const causes = new WeakMap<GraphQLError, unknown>()

/** The message of graphql-js when it has compared 500,000 pairs of fields that may be merged. */
const tooManyComparisons = 'Validation aborted.'

const explain = (message: string): string =>
  message === tooManyComparisons
    ? 'The document repeats too many fields, which have to be compared. Ask for each field once.'
    : shorten(message)

/** Explains and shortens the errors of validation, which `maskError` does not see. */
export const shownValidationErrors: Plugin = {
  onValidate:
    () =>
    ({ result }) => {
      for (const error of result) error.message = explain(error.message)
    },
}

/** The Yoga plugin that records errors, of requests and of fields: the status shows errors of requests only. */
export const errorRecording: Plugin<object, { req: FastifyRequest }> = {
  onResultProcess({ result, serverContext }) {
    if (!Array.isArray(result) && 'errors' in result) recordErrors(serverContext.req, result.errors)
  },
}

/** Records the masked errors of a response, and logs each cause of the service's own errors once. */
export function recordErrors(request: FastifyRequest, errors: readonly GraphQLError[] = []): void {
  const logged = new Set<unknown>()
  for (const error of errors) {
    recordError(request, countedErrorOf(error))
    const cause = causes.get(error)
    if (!causes.has(error) || logged.has(cause)) continue
    logged.add(cause)
    if (error.extensions.code === 'UNAVAILABLE') request.log.warn({ err: cause }, 'cannot answer')
    else request.log.error({ err: cause }, 'field failed')
  }
}

/** Returns what is counted of a masked error: the code, but not a message of graphql-js, because it quotes the caller. */
function countedErrorOf({ message, extensions }: GraphQLError): RequestError {
  const { code = 'BAD_USER_INPUT', errors: fieldErrors } = extensions
  if (typeof fieldErrors === 'object' && fieldErrors !== null)
    return toRequestError({ code: String(code), message, fieldErrors })
  const isOurs = code !== 'BAD_USER_INPUT' && Object.hasOwn(statusOf, String(code))
  return toRequestError({ code: String(code), message: isOurs ? message : 'The GraphQL request is not valid.' })
}

/** @returns the error that was thrown: graphql-js wraps it to locate it */
const originalErrorOf = (error: unknown): unknown =>
  error instanceof GraphQLError && error.originalError ? originalErrorOf(error.originalError) : error

/** @param http the status of the response, when the request fails as a whole: such an error has no path */
function shownAs(
  error: unknown,
  message: string,
  extensions: object,
  http: NonNullable<GraphQLErrorExtensions['http']>,
): GraphQLError {
  const { path, nodes, source, positions, locations } = error instanceof GraphQLError ? error : {}
  const shown = new GraphQLError(message, {
    path: path ?? null,
    extensions: path ? { ...extensions } : { ...extensions, http },
  })
  // The constructor would find the locations again, in time linear in the document.
  return Object.assign(shown, { nodes, source, positions, locations })
}
