/** Classifies the errors of the service for a sync. */
import { VoucherGatewayError } from '#client'
import { exitCodes, SyncError } from './errors.ts'
import { describeUnusedProxy } from './unused-proxy.ts'

/** Returns the code of a `VoucherGatewayError`; null for any other error. */
export const codeOf = (error: unknown): string | null => (error instanceof VoucherGatewayError ? error.code : null)

/** Returns whether the tenant or the list does not exist, or the token may not read it. */
export const isGone = (error: unknown): boolean => ['NOT_FOUND', 'FORBIDDEN'].includes(codeOf(error) ?? '')

/** Returns whether an error is a field error of a GraphQL response: only a field error has status 200. */
export const isGraphqlFieldError = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && error.status === 200

/** Returns whether the service refused the cursor. The field is `cursor` in v1 and exports, and `after` in GraphQL. */
export const isUnknownCursor = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && ('cursor' in error.fieldErrors || 'after' in error.fieldErrors)

/** Returns the `Retry-After` of the service, in seconds; null without one. */
export const retryAfterOf = (error: unknown): number | null =>
  error instanceof VoucherGatewayError ? (error.retryAfter ?? null) : null

/** Returns whether the service no longer has all removals since the bound (docs/guides/keeping-in-step.md). */
export const needsFullPass = (error: unknown): boolean => error instanceof VoucherGatewayError && error.needsFullPass

/**
 * Returns whether the service cannot answer `changes`, because it does not know the field or does not trust the
 * document.
 */
export const lacksChangesQuery = (error: unknown): boolean =>
  ['GRAPHQL_VALIDATION_FAILED', 'DOCUMENT_NOT_TRUSTED'].includes(codeOf(error) ?? '')

/** Returns the id of the failed request in the service's log; null when the error does not come from a request. */
export const requestIdOf = (error: unknown): string | null =>
  error instanceof VoucherGatewayError ? (error.requestId ?? null) : null

/** Returns the message of an error for a person, without the stack. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const message = error.message || ('code' in error ? String(error.code) : error.name)
  if (!(error instanceof VoucherGatewayError)) return message
  const { code, status } = error
  const isUnanswered = status === undefined && (code === 'CONNECTION_FAILED' || code === 'TIMEOUT')
  return [message, isUnanswered && describeUnusedProxy()].filter(Boolean).join(' ')
}

/**
 * The codes of errors that a person must solve: the token is invalid, or may not read the tenant or the list, or the
 * service does not trust the client's documents.
 */
const deniedCodes = ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'DOCUMENT_NOT_TRUSTED']

/** The codes of requests that a correct client never sends. */
const clientErrorCodes = ['BAD_USER_INPUT', 'TOO_LARGE', 'METHOD_NOT_ALLOWED', 'UNSUPPORTED_MEDIA_TYPE']

/** Returns the exit code of a command that ends with this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof SyncError) return error.exitCode
  const code = codeOf(error)
  if (code === null || clientErrorCodes.includes(code)) return exitCodes.failed
  return deniedCodes.includes(code) ? exitCodes.refused : exitCodes.unreachable
}
