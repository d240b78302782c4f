import { isJsonObject } from './json-object.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

/** A GraphQL request (GraphQL over HTTP, §6.4.1). */
export interface GraphqlRequest {
  query: string
  operationName: string | null
  variables: Record<string, unknown>
}

const parameters = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions'])

/**
 * Reads the text of a request body in its plainest form.
 *
 * @returns the request, with the text of its document; null: Yoga has to read the body, and reports what is wrong with it
 */
export function readGraphqlRequest(body: unknown, documents: TrustedDocuments): GraphqlRequest | null {
  if (typeof body !== 'string') return null
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    return null
  }
  if (!isJsonObject(request) || !Object.keys(request).every(key => parameters.has(key))) return null
  const { operationName = null, variables = null, extensions = null } = request
  const query = documents.find(request)
  if (typeof query !== 'string') return null
  if (operationName !== null && typeof operationName !== 'string') return null
  if (variables !== null && !isJsonObject(variables)) return null
  if (extensions !== null && !isJsonObject(extensions)) return null
  return { query, operationName, variables: variables ?? {} }
}
