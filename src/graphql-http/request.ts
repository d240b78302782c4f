/** A GraphQL request (GraphQL over HTTP, §6.4.1). */
export interface GraphqlRequest {
  query: string
  operationName: string | null
  variables: Record<string, unknown>
}

const parameters = new Set(['query', 'operationName', 'variables'])

/**
 * Reads a request body in its plainest form.
 *
 * @param body the text of the body
 * @returns the GraphQL request; null when Yoga has to read the body
 */
export function readGraphqlRequest(body: unknown): GraphqlRequest | null {
  if (typeof body !== 'string') return null
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    return null
  }
  if (!isObject(request)) return null
  const { query, operationName = null, variables = null } = request
  if (typeof query !== 'string' || !Object.keys(request).every(key => parameters.has(key))) return null
  if (operationName !== null && typeof operationName !== 'string') return null
  if (variables !== null && !isObject(variables)) return null
  return { query, operationName, variables: variables ?? {} }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
