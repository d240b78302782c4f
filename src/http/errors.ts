import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOutage } from '../db/outage.ts'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import { toRequestError } from '../domain/request-count.ts'
import { recordError } from './request-count.ts'

/** The status of each refusal, at every door. */
export const statusOf: Record<ErrorCode, number> = {
  UNAUTHENTICATED: 401,
  RATE_LIMITED: 429,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  BAD_USER_INPUT: 422,
  TOO_LARGE: 413,
  TOO_SLOW: 408,
  METHOD_NOT_ALLOWED: 405,
  UNAVAILABLE: 503,
  INTERNAL: 500,
}

/** That the service cannot answer just now, and why: for the log alone. */
export const unavailable = (cause: unknown) =>
  new GatewayError('UNAVAILABLE', 'The service cannot answer just now. Try again in a moment.', {
    retryAfter: 1,
    cause,
  })

/**
 * Whatever was thrown, as a refusal that may be shown (R18): what is not known to be one is a fault of the service,
 * and keeps what happened as its `cause`, for the log alone.
 */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  // First of all Fastify's: a client that hangs up has the same code as a database that does.
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
  return new GatewayError('INTERNAL', 'The service failed to answer. The fault has been noted.', { cause: error })
}

/**
 * Answers with a refusal, and notes it: its status, the headers that go with it, and the body that the door gives it.
 *
 * @param toBody the refusal in the door's own form
 */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: GatewayError,
  toBody: (error: GatewayError) => object,
): FastifyReply {
  recordError(request, toRequestError(error))
  if (error.code === 'INTERNAL') request.log.error({ err: error.cause }, 'request failed')
  if (error.code === 'UNAVAILABLE') request.log.warn({ err: error.cause }, 'cannot answer')
  // RFC 9110 §11.6.1: a 401 names the scheme that it wants.
  if (error.code === 'UNAUTHENTICATED') reply.header('WWW-Authenticate', 'Bearer')
  if (error.retryAfter !== undefined) reply.header('Retry-After', error.retryAfter)
  return reply
    .code(statusOf[error.code])
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(toBody(error)))
}

/** A refusal as the contract writes it: a message, and the errors of each field (contract, Error bodies). */
export const toMessageBody = ({ message, fieldErrors }: GatewayError) =>
  fieldErrors ? { message, errors: fieldErrors } : { message }
