/**
 * GraphQL requests. The documents are fixed and sent by id, so that an operator can let the service accept only these
 * documents.
 */
import { type Answer, throwFirstError } from './answer-error.ts'
import { VoucherGatewayError } from './error.ts'
import type { CallOptions, Transport } from './transport.ts'

/** A query that the service knows by its id. */
export interface TrustedDocument {
  /** `sha256:` and the SHA-256 of the document's text. */
  id: string
  text: string
}

/**
 * Runs a query. When the service does not know the id of the document, sends the text.
 *
 * @throws VoucherGatewayError with the first error of the response
 */
export async function runQuery(
  transport: Transport,
  { id, text }: TrustedDocument,
  variables: object,
  { signal }: CallOptions,
): Promise<Answer> {
  // A query changes nothing, so this POST can be repeated like a GET.
  const send = (document: { documentId: string } | { query: string }) =>
    transport.send({ path: '/graphql', body: { ...document, variables }, repeatable: true, signal }, throwFirstError)
  try {
    return await send({ documentId: id })
  } catch (error) {
    if (!isUnknownDocument(error)) throw error
    return send({ query: text })
  }
}

/** Returns whether the service does not know the id of a document. It may still accept the full text. */
export const isUnknownDocument = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && error.code === 'PERSISTED_DOCUMENT_NOT_FOUND'
