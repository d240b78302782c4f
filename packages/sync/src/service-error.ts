/** Interprets the errors of the service for a sync. */
import { VoucherGatewayError } from '#client'
import { exitCodes, SyncError } from './errors.ts'
import { describeUnusedProxy } from './unused-proxy.ts'

/** Returns the code of an error of the service; null for another error. */
export const codeOf = (error: unknown): string | null => (error instanceof VoucherGatewayError ? error.code : null)

/** Returns whether the service has no such tenant or list for the token. */
export const isGone = (error: unknown): boolean => ['NOT_FOUND', 'FORBIDDEN'].includes(codeOf(error) ?? '')

/** Returns whether an error is one of a field in a GraphQL response. Only these errors have a code with status 200. */
export const isOfGraphql = (error: unknown): boolean => error instanceof VoucherGatewayError && error.status === 200

/** Returns whether the service does not know the cursor: v1 and exports name it `cursor`, GraphQL `after`. */
export const isUnknownCursor = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && ('cursor' in error.fieldErrors || 'after' in error.fieldErrors)

/** Returns the delay that the service asks for before the next attempt, in seconds; null when it names none. */
export const retryAfterOf = (error: unknown): number | null =>
  error instanceof VoucherGatewayError ? (error.retryAfter ?? null) : null

/** Returns whether the removals since the bound are no longer complete (docs/guides/keeping-in-step.md). */
export const needsFullPass = (error: unknown): boolean => error instanceof VoucherGatewayError && error.needsFullPass

/** Returns whether the service names no changes: it does not know the field, or does not trust the document. */
export const lacksChangesQuery = (error: unknown): boolean =>
  ['GRAPHQL_VALIDATION_FAILED', 'DOCUMENT_NOT_TRUSTED'].includes(codeOf(error) ?? '')

/** Returns the id under which the service's log has the failed request; null when there was none. */
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

/** The token is not valid, or may not read the tenant or the list; or the service does not trust the client's documents. */
const deniedCodes = ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'DOCUMENT_NOT_TRUSTED']

/** A correct client does not send such a request. */
const clientErrorCodes = ['BAD_USER_INPUT', 'TOO_LARGE', 'METHOD_NOT_ALLOWED', 'UNSUPPORTED_MEDIA_TYPE']

/** Returns the exit code of a command that ends with this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof SyncError) return error.exitCode
  const code = codeOf(error)
  if (code === null || clientErrorCodes.includes(code)) return exitCodes.failed
  return deniedCodes.includes(code) ? exitCodes.refused : exitCodes.unreachable
}
