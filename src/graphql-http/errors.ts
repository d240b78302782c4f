import type { FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, type GraphQLErrorExtensions } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GatewayError } from '../domain/errors.ts'
import { type RequestError, toRequestError } from '../domain/token/request-count.ts'
import { reportFailure, spreadRetryAfter, statusOf, toGatewayError } from '../http/errors.ts'
import { recordError } from '../http/request-count.ts'
import { documentErrorCodes } from './trusted-documents.ts'

/** Returns the extensions of a GraphQL error, for programs. */
const toExtensions = ({ code, fieldErrors }: GatewayError) => (fieldErrors ? { code, errors: fieldErrors } : { code })

/** Returns the body of a response to a request that fails as a whole. */
export const toErrorsBody = (error: GatewayError) => ({
  errors: [{ message: error.message, extensions: toExtensions(error) }],
})

/** The most characters of a message of graphql-js that are shown: it quotes the caller's text, of any length. */
const longestMessage = 200

/** Returns the message, with its middle left out when it is long. */
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
  const { retryAfter } = gatewayError
  const headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
  const http = { status: statusOf[gatewayError.code], headers, spec: true }
  const shown = shownAs(error, gatewayError.message, toExtensions(gatewayError), http)
  if (gatewayError.code === 'INTERNAL' || gatewayError.code === 'UNAVAILABLE') failures.set(shown, gatewayError)
  return shown
}

/** The service's own errors, by the error that is shown: for the log only. */
const failures = new WeakMap<GraphQLError, GatewayError>()

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

/** The Yoga plugin that reports errors, of requests and of fields: the status shows errors of requests only. */
export const errorReporting: Plugin<object, { req: FastifyRequest; reply: FastifyReply }> = {
  onResultProcess({ result, serverContext: { req, reply } }) {
    if (Array.isArray(result) || !('errors' in result)) return
    recordErrors(req, result.errors)
    writeRetryAfter(reply, result.errors)
  },
}

/** Says when to repeat a request of which fields are `UNAVAILABLE`, as with status 503 (RFC 9110 §10.2.3). */
export function writeRetryAfter(reply: FastifyReply, errors: readonly GraphQLError[] = []): void {
  if (errors.some(({ extensions }) => extensions.code === 'UNAVAILABLE'))
    reply.header('Retry-After', spreadRetryAfter())
}

/** Records the masked errors of a response, and writes each cause of the service's own errors to the log once. */
export function recordErrors(request: FastifyRequest, errors: readonly GraphQLError[] = []): void {
  const logged = new Set<unknown>()
  for (const error of errors) {
    recordError(request, countedErrorOf(error))
    const failure = failures.get(error)
    if (!failure || logged.has(failure.cause)) continue
    logged.add(failure.cause)
    reportFailure(request, failure, 'field failed')
  }
}

/** The codes of errors whose messages are ours: they quote nothing. */
const ownCodes: ReadonlySet<string> = new Set([
  ...Object.keys(statusOf).filter(code => code !== 'BAD_USER_INPUT'),
  ...documentErrorCodes,
])

/** Returns what is counted of a masked error. A message of graphql-js is not, because it quotes the caller. */
function countedErrorOf({ message, extensions }: GraphQLError): RequestError {
  const { code = 'BAD_USER_INPUT', errors: fieldErrors } = extensions
  if (typeof fieldErrors === 'object' && fieldErrors !== null)
    return toRequestError({ code: String(code), message, fieldErrors })
  const isOurs = ownCodes.has(String(code))
  return toRequestError({ code: String(code), message: isOurs ? message : 'The GraphQL request is not valid.' })
}

/** Returns the error that was thrown: graphql-js wraps it to locate it. */
const originalErrorOf = (error: unknown): unknown =>
  error instanceof GraphQLError && error.originalError ? originalErrorOf(error.originalError) : error

/** Returns an error to show. `http` is the status of a request that fails as a whole: its error has no path. */
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
