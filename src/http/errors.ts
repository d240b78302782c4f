import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOutage } from '../db/connection/outage.ts'
import { CallerGoneError } from '../db/statement/statement.ts'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import { toRequestError } from '../domain/token/request-count.ts'
import { recordError } from './request-count.ts'

/** The HTTP status of each error code, on every transport. */
export const statusOf: Record<ErrorCode, number> = {
  UNAUTHENTICATED: 401,
  RATE_LIMITED: 429,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  BAD_USER_INPUT: 422,
  TOO_LARGE: 413,
  TOO_SLOW: 408,
  METHOD_NOT_ALLOWED: 405,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNAVAILABLE: 503,
  INTERNAL: 500,
}

/** Returns one to five seconds at random, so that refused callers do not all retry at the same time. */
export const spreadRetryAfter = () => 1 + Math.floor(Math.random() * 5)

/**
 * Makes the error of a request that the service cannot answer at the moment.
 *
 * @param cause the reason, which is written to the log but not shown to the caller
 */
export const unavailable = (cause: unknown) =>
  new GatewayError('UNAVAILABLE', 'The service cannot answer just now. Try again in a moment.', {
    retryAfter: spreadRetryAfter(),
    cause,
  })

/**
 * The error of a request that is refused because the service has too many requests. This error is not logged, because
 * the code that refuses the request counts it for the log.
 */
export class OverloadError extends GatewayError {
  constructor() {
    super('UNAVAILABLE', 'The service has too many requests just now. Try again in a moment.', {
      retryAfter: spreadRetryAfter(),
    })
  }
}

/**
 * Converts a thrown value to an error that a caller may see (R18). An unknown error becomes `INTERNAL`, with the
 * original error as its `cause`, which only the log shows.
 */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  // Errors of Fastify are checked first, because the end of a client's connection and the end of a database connection
  // have the same code.
  if (error instanceof Error && 'code' in error && 'statusCode' in error) {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      return new GatewayError('TOO_LARGE', 'The request body is too large.')
    }
    if (Number(error.statusCode) < 500) {
      return new GatewayError('BAD_USER_INPUT', 'The request is not valid.', {
        fieldErrors: { body: ['The request body cannot be read.'] },
      })
    }
  }
  if (isOutage(error)) return unavailable(error)
  // The text is a part of v1, which must not change.
  return new GatewayError('INTERNAL', 'The service failed to answer. The fault has been noted.', { cause: error })
}

/**
 * Sends an error with its status, its headers and the transport's body, and counts it for the token.
 *
 * @param toBody formats the error for the transport
 */
export async function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: GatewayError,
  toBody: (error: GatewayError) => object,
): Promise<FastifyReply> {
  if (error.code === 'RATE_LIMITED') {
    request.endAdmission?.()
    await new Promise<void>(send => request.server.holdRefusal(send))
  }
  recordError(request, toRequestError(error))
  reportFailure(request, error)
  // A 401 must name the authentication scheme that the service expects (RFC 9110 §11.6.1).
  if (error.code === 'UNAUTHENTICATED') reply.header('WWW-Authenticate', 'Bearer')
  if (error.retryAfter !== undefined) reply.header('Retry-After', error.retryAfter)
  return reply
    .code(statusOf[error.code])
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(toBody(error)))
}

/**
 * An overload has its own log lines. When a statement is not sent because its caller has disconnected, nothing has
 * failed.
 */
const isExpected = (error: GatewayError): boolean =>
  error instanceof OverloadError || error.cause instanceof CallerGoneError

/**
 * Writes an error to the log if the service is the cause; ignores other errors, for example after a caller
 * disconnected.
 *
 * @param faultMessage the message of the log line when the error is `INTERNAL`
 */
export function reportFailure(request: FastifyRequest, error: GatewayError, faultMessage = 'request failed'): void {
  const { code, cause = error } = error
  if ((code !== 'INTERNAL' && code !== 'UNAVAILABLE') || isExpected(error)) return
  const isOutage = code === 'UNAVAILABLE'
  request.server.failureLog.report({
    error: cause,
    message: isOutage ? 'cannot answer' : faultMessage,
    kind: isOutage ? 'outage' : 'fault',
    request,
  })
}

/**
 * Returns the body of an error in the format of v1, which has a message and the errors of each field (contract, Error
 * bodies).
 */
export const toMessageBody = ({ message, fieldErrors }: GatewayError) =>
  fieldErrors ? { message, errors: fieldErrors } : { message }
