import type { FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, type GraphQLErrorExtensions, type SourceLocation } from 'graphql'
import type { GatewayError } from '../domain/errors.ts'
import { type RequestError, toRequestError } from '../domain/token/request-count.ts'
import { reportFailure, spreadRetryAfter, statusOf, toGatewayError } from '../http/errors.ts'
import { recordError } from '../http/request-count.ts'
import { documentErrorCodes } from './trusted-documents.ts'

/** An error in the forms that the caller, the counts and the log get. */
export interface ShownError {
  /** The error as the response shows it (GraphQL, §7.1.2). This form keeps no reference to the document. */
  body: {
    message: string
    locations: readonly SourceLocation[] | undefined
    path: readonly (string | number)[] | undefined
    extensions: Record<string, unknown>
  }
  /** The status and headers of a request that fails as a whole; null for the error of a field. */
  http: GraphQLErrorExtensions['http'] | null
  /** The error for the request counts. It has no message of graphql-js, because such a message quotes the document. */
  counted: RequestError
  /** The service's own error, which is only written to the log. */
  failure: GatewayError | null
}

const toExtensions = ({ code, fieldErrors }: GatewayError) => (fieldErrors ? { code, errors: fieldErrors } : { code })

/** Returns the body of a response to a request that fails as a whole. */
export const toErrorsBody = (error: GatewayError) => ({
  errors: [{ message: error.message, extensions: toExtensions(error) }],
})

/**
 * The maximum length of a message of graphql-js in an answer, in characters. Longer messages are shortened, because
 * they quote text of the caller.
 */
const longestMessage = 200

/** The codes of errors of graphql-js whose messages are ours. These messages quote nothing. */
const ownCodes: ReadonlySet<unknown> = new Set(documentErrorCodes)

/** The message of graphql-js when it has compared 500,000 pairs of fields that may be merged. */
const tooManyComparisons = 'Validation aborted.'

/** Returns a message of graphql-js, with its middle left out when it is long. */
function explain(message: string): string {
  if (message === tooManyComparisons) {
    return 'The document repeats too many fields, which have to be compared. Ask for each field once.'
  }
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 60)} … ${message.slice(-50)}`
}

/**
 * Masks an error (R18). Errors of the gateway and of graphql-js are shown to the caller. Any other error becomes
 * `INTERNAL` or `UNAVAILABLE`, without its message.
 *
 * @param code the code for an error of graphql-js without a code
 */
export function showError(error: unknown, code = 'BAD_USER_INPUT'): ShownError {
  const origin = originalErrorOf(error)
  const { locations, path } = error instanceof GraphQLError ? error : {}
  if (origin instanceof GraphQLError) {
    const { message, extensions } = error instanceof GraphQLError ? error : origin
    const { http = { status: 400, spec: true } } = extensions
    const shownCode = extensions.code ?? code
    const body = { message: explain(message), locations, path, extensions: { code: shownCode } }
    const reason = ownCodes.has(shownCode) ? message : 'The GraphQL request is not valid.'
    return { body, http: path ? null : http, counted: { code: String(shownCode), reason }, failure: null }
  }
  const gatewayError = toGatewayError(origin)
  const isFailure = gatewayError.code === 'INTERNAL' || gatewayError.code === 'UNAVAILABLE'
  return {
    body: { message: gatewayError.message, locations, path, extensions: toExtensions(gatewayError) },
    http: path ? null : { status: statusOf[gatewayError.code] },
    counted: toRequestError(gatewayError),
    failure: isFailure ? gatewayError : null,
  }
}

/**
 * Returns the error of a subscription that the client should repeat (`RATE_LIMITED`, `UNAVAILABLE`); null for any
 * other.
 */
export function retryableOf(error: unknown): GatewayError | null {
  const gatewayError = toGatewayError(originalErrorOf(error))
  return gatewayError.retryAfter === undefined ? null : gatewayError
}

/** Writes `Retry-After` for a response with `UNAVAILABLE` fields, as for status 503 (RFC 9110 §10.2.3). */
export function writeRetryAfter(reply: FastifyReply, errors: readonly ShownError[]): void {
  if (errors.some(({ body }) => body.extensions.code === 'UNAVAILABLE')) reply.header('Retry-After', spreadRetryAfter())
}

/** Records the errors of a response, and writes each cause of the service's own errors to the log once. */
export function recordErrors(request: FastifyRequest, errors: readonly ShownError[]): void {
  const logged = new Set<unknown>()
  for (const { counted, failure } of errors) {
    recordError(request, counted)
    if (!failure || logged.has(failure.cause)) continue
    logged.add(failure.cause)
    reportFailure(request, failure, 'field failed')
  }
}

/** Returns the error that was originally thrown, because graphql-js wraps errors to add their location. */
const originalErrorOf = (error: unknown): unknown =>
  error instanceof GraphQLError && error.originalError ? originalErrorOf(error.originalError) : error
