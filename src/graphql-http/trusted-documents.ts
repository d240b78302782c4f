/**
 * Documents that requests name by their id instead of sending them (GraphQL over HTTP, Appendix A: Persisted Documents).
 * The id is `sha256:` and the SHA-256 of the text, in lower-case hexadecimal digits.
 */
import { createHash } from 'node:crypto'
import { GraphQLError } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { isJsonObject } from './json-object.ts'

/** The codes of requests whose document does not run, beside `BAD_REQUEST`. */
export const documentErrorCodes = [
  'DOCUMENT_NOT_TRUSTED',
  'PERSISTED_DOCUMENT_NOT_FOUND',
  'PERSISTED_QUERY_NOT_FOUND',
] as const

type DocumentErrorCode = (typeof documentErrorCodes)[number]

/** Returns the id of a document. */
export const documentIdOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

/** The parameters of a request that say which document runs, as the caller sent them. */
interface DocumentParameters {
  query?: unknown
  documentId?: unknown
  extensions?: unknown
}

const notFound = (code: DocumentErrorCode) =>
  new GraphQLError('No trusted document has this id: sha256: and the SHA-256 of its text in lower-case hexadecimal.', {
    extensions: { code, http: { status: 400, spec: true } },
  })

const badRequest = (message: string) =>
  new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400, spec: true } } })

const notTrusted = () =>
  new GraphQLError('Only trusted documents run here: send the documentId of one instead of a query.', {
    extensions: { code: 'DOCUMENT_NOT_TRUSTED', http: { status: 403 } },
  })

/** The trusted documents of a service, and whether others run too. */
export class TrustedDocuments {
  readonly admitsOthers: boolean
  readonly #texts: ReadonlyMap<string, string>
  readonly #trusted: ReadonlySet<string>

  /** @param texts by id */
  constructor(texts: ReadonlyMap<string, string>, admitsOthers: boolean) {
    this.admitsOthers = admitsOthers
    this.#texts = texts
    this.#trusted = new Set(texts.values())
  }

  /** Returns whether a document of this text runs, however a request named it. */
  admits(text: string): boolean {
    return this.admitsOthers || this.#trusted.has(text)
  }

  /**
   * Finds the document that a request names.
   *
   * @returns the value of `query`, or the text of a trusted document; undefined: the request names none; an error to show
   */
  find({ query = null, documentId = null, extensions }: DocumentParameters): unknown {
    if (query !== null && !this.admitsOthers) return notTrusted()
    if (documentId !== null) {
      if (typeof documentId !== 'string') return badRequest('The documentId must be a string.')
      if (query !== null) return badRequest('Give either query or documentId, not both.')
      return this.#texts.get(documentId) ?? notFound('PERSISTED_DOCUMENT_NOT_FOUND')
    }
    if (query !== null) return query
    const hash = apolloHash(extensions)
    // Apollo's clients send the query when they read this code.
    if (hash !== null) return this.#texts.get(`sha256:${hash}`) ?? notFound('PERSISTED_QUERY_NOT_FOUND')
    return this.admitsOthers ? undefined : badRequest('Give the documentId of a trusted document.')
  }
}

/** Returns the hash of `extensions.persistedQuery`, as Apollo's clients send it; null when there is none. */
function apolloHash(extensions: unknown): string | null {
  const { persistedQuery } = isJsonObject(extensions) ? extensions : {}
  const { sha256Hash } = isJsonObject(persistedQuery) ? persistedQuery : {}
  return typeof sha256Hash === 'string' ? sha256Hash : null
}

/**
 * Creates the Yoga plugin that puts the text of a trusted document in the place of its id, and rejects documents that are
 * not trusted. It must be the first plugin that reads parameters.
 */
export function trustedDocumentsPlugin(documents: TrustedDocuments): Plugin {
  return {
    onParams({ request, params, setParams }) {
      const named: GraphQLParams & DocumentParameters = params
      const documentId = request.method === 'GET' ? queryParameter(request.url, 'documentId') : named.documentId
      const text = documents.find({ query: named.query, documentId, extensions: named.extensions })
      if (text instanceof GraphQLError) throw text
      if (typeof text !== 'string' || text === named.query) return
      const { operationName, variables } = named
      setParams({ query: text, ...(operationName ? { operationName } : {}), ...(variables ? { variables } : {}) })
    },
    // Again where each document has to pass, whatever has read the parameters.
    onParse({ params: { source } }) {
      if (!documents.admits(String(source))) throw notTrusted()
    },
  }
}

const queryParameter = (url: string, name: string): string | null =>
  url.includes('?') ? new URLSearchParams(url.slice(url.indexOf('?') + 1)).get(name) : null
