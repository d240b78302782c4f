import { GraphQLError } from 'graphql'
import type { GatewayError } from '../domain/errors.ts'
import { toGatewayError } from '../http/errors.ts'

/** What a GraphQL error says to programs, beside its message. */
export const toExtensions = ({ code, faults }: GatewayError) => (faults ? { code, errors: faults } : { code })

/** A refusal of a whole request, in GraphQL's form. */
export const toErrorsBody = (error: GatewayError) => ({
  errors: [{ message: error.message, extensions: toExtensions(error) }],
})

/**
 * What may be shown of an error that execution met: its refusal, or (R18) only that the service failed. What GraphQL
 * itself finds wrong with a document or its variables is the caller's to know.
 *
 * @param onFault told what happened when it was a fault of the service
 */
export function maskError(error: unknown, onFault: (cause: unknown) => void): GraphQLError {
  if (error instanceof GraphQLError && !error.originalError) {
    if (error.extensions.code === undefined) error.extensions.code = 'BAD_USER_INPUT'
    return error
  }
  const original = error instanceof GraphQLError ? error.originalError : error
  const refusal = toGatewayError(original)
  if (refusal.code === 'INTERNAL' || refusal.code === 'UNAVAILABLE') onFault(refusal.cause)
  const at = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {}
  return new GraphQLError(refusal.message, { ...at, extensions: toExtensions(refusal) })
}
