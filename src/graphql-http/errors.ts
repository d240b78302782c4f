import type { FastifyRequest } from 'fastify'
import { GraphQLError, type GraphQLErrorExtensions } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GatewayError } from '../domain/errors.ts'
import { type RequestError, toRequestError } from '../domain/request-count.ts'
import { statusOf, toGatewayError } from '../http/errors.ts'
import { recordError } from '../http/request-count.ts'

/** What a GraphQL error says to programs, beside its message. */
const toExtensions = ({ code, fieldErrors }: GatewayError) => (fieldErrors ? { code, errors: fieldErrors } : { code })

/** A refusal of a whole request, in GraphQL's form. */
export const toErrorsBody = (error: GatewayError) => ({
  errors: [{ message: error.message, extensions: toExtensions(error) }],
})

/** The most characters of graphql-js' own messages that are shown: they quote the caller's text, however long it is. */
const longestMessage = 200

/** @returns the message, with its middle left out when it is long */
const shorten = (message: string): string =>
  message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 60)} … ${message.slice(-50)}`

/**
 * Makes an error that may be shown of one that Yoga or graphql-js reports (R18): a refusal as it is, a fault of the
 * service without what happened. What graphql-js finds wrong with a document or its variables is shown to the caller.
 */
export function maskError(error: unknown): GraphQLError {
  const origin = originOf(error)
  if (error instanceof GraphQLError && origin instanceof GraphQLError) {
    const { code = 'BAD_USER_INPUT', http = { status: 400, spec: true } } = error.extensions
    return shownAs(error, shorten(error.message), { code }, http)
  }
  const refusal = toGatewayError(origin)
  const shown = shownAs(error, refusal.message, toExtensions(refusal), { status: statusOf[refusal.code], spec: true })
  if (refusal.code === 'INTERNAL' || refusal.code === 'UNAVAILABLE') causes.set(shown, refusal.cause)
  return shown
}

/** What the service's own errors came from, by the error that is shown: for the log alone. */
const causes = new WeakMap<GraphQLError, unknown>()

/** What graphql-js reports when it has compared 500,000 pairs of fields that may be merged. */
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

/** Notes what was refused, of the whole request or of fields in it: no status tells of fields. */
export const notedRefusals: Plugin<object, { req: FastifyRequest }> = {
  onResultProcess({ result, serverContext }) {
    if (!Array.isArray(result) && 'errors' in result) recordErrors(serverContext.req, result.errors)
  },
}

/** Notes what was refused by the errors of a result, as they are shown, and logs each fault of the service once. */
export function recordErrors(request: FastifyRequest, errors: readonly GraphQLError[] = []): void {
  const logged = new Set<unknown>()
  for (const error of errors) {
    recordError(request, refusalIn(error))
    const cause = causes.get(error)
    if (!causes.has(error) || logged.has(cause)) continue
    logged.add(cause)
    if (error.extensions.code === 'UNAVAILABLE') request.log.warn({ err: cause }, 'cannot answer')
    else request.log.error({ err: cause }, 'field failed')
  }
}

/** What is counted of an error as it is shown. GraphQL's own sentences quote the caller: of those, the code is kept. */
function refusalIn({ message, extensions }: GraphQLError): RequestError {
  const { code = 'BAD_USER_INPUT', errors: fieldErrors } = extensions
  if (typeof fieldErrors === 'object' && fieldErrors !== null)
    return toRequestError({ code: String(code), message, fieldErrors })
  const isOurs = code !== 'BAD_USER_INPUT' && Object.hasOwn(statusOf, String(code))
  return toRequestError({ code: String(code), message: isOurs ? message : 'The GraphQL request is not valid.' })
}

/** What was thrown first: GraphQL wraps an error to say where it came up. */
const originOf = (error: unknown): unknown =>
  error instanceof GraphQLError && error.originalError ? originOf(error.originalError) : error

/** @param http the status, for an error that refuses the whole request: only a field's error has a path */
function shownAs(
  error: unknown,
  message: string,
  said: object,
  http: NonNullable<GraphQLErrorExtensions['http']>,
): GraphQLError {
  const { path, nodes, source, positions, locations } = error instanceof GraphQLError ? error : {}
  const shown = new GraphQLError(message, {
    path: path ?? null,
    extensions: path ? { ...said } : { ...said, http },
  })
  // The constructor would look for the locations again, which takes as long as the document is.
  return Object.assign(shown, { nodes, source, positions, locations })
}
