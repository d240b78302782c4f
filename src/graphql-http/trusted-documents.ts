/**
 * Documents that requests name by their id instead of sending them (GraphQL over HTTP, Appendix A: Persisted
 * Documents). The id is `sha256:` and the SHA-256 of the text, in lower-case hexadecimal digits.
 */
import { createHash } from 'node:crypto'
import { GraphQLError } from 'graphql'

/** The codes of errors with which a document does not run, except `BAD_REQUEST`. */
export const documentErrorCodes = [
  'DOCUMENT_NOT_TRUSTED',
  'PERSISTED_DOCUMENT_NOT_FOUND',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
] as const

/** Returns the id of a document. */
export const documentIdOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

/** The parameters of a request that name its document, unchecked. */
type DocumentParameters = Partial<Record<'query' | 'documentId' | 'extensions', unknown>>

const unknownId = 'No trusted document has this id: sha256: and the SHA-256 of its text in lower-case hexadecimal.'

const requestError = (message: string, code: (typeof documentErrorCodes)[number] | 'BAD_REQUEST' = 'BAD_REQUEST') =>
  new GraphQLError(message, { extensions: { code, http: { status: 400, spec: true } } })

const notTrusted = () =>
  new GraphQLError('Only trusted documents run here: send the documentId of one instead of a query.', {
    extensions: { code: 'DOCUMENT_NOT_TRUSTED', http: { status: 403 } },
  })

/** The trusted documents of a service, and whether other documents may run. */
export class TrustedDocuments {
  /** @param texts by id */
  constructor(
    private readonly texts: ReadonlyMap<string, string>,
    readonly admitsOthers: boolean,
  ) {}

  /**
   * Finds the document that a request names.
   *
   * @returns the value of `query`, the text of a trusted document, an error to show, or undefined when the request
   *   names no document
   */
  find({ query = null, documentId = null, extensions }: DocumentParameters): unknown {
    if (query !== null && !this.admitsOthers) return notTrusted()
    if (documentId !== null) {
      if (typeof documentId !== 'string') return requestError('The documentId must be a string.')
      if (query !== null) return requestError('Give either query or documentId, not both.')
      return this.texts.get(documentId) ?? requestError(unknownId, 'PERSISTED_DOCUMENT_NOT_FOUND')
    }
    if (query !== null) return query
    const hash = apolloHash(extensions)
    if (hash === null) return this.admitsOthers ? undefined : requestError('Give the documentId of a trusted document.')
    const text = this.texts.get(`sha256:${hash}`)
    if (text !== undefined) return text
    // Clients of Apollo and urql read the message. Queries are not stored. If other queries may run, the clients then
    // stop sending hashes. Otherwise the clients continue to send hashes of trusted documents.
    return this.admitsOthers
      ? requestError('PersistedQueryNotSupported', 'PERSISTED_QUERY_NOT_SUPPORTED')
      : requestError('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND')
  }
}

/** Returns the hash in `extensions.persistedQuery`, which clients of Apollo send; null without a hash. */
function apolloHash(extensions: unknown): string | null {
  const { persistedQuery } = isJsonObject(extensions) ? extensions : {}
  const { sha256Hash } = isJsonObject(persistedQuery) ? persistedQuery : {}
  return typeof sha256Hash === 'string' ? sha256Hash : null
}

/** Returns whether a value of JSON is an object. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
