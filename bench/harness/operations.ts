/** Requests for the operations of v1, over REST and over GraphQL. */
import { print, visit } from 'graphql'
import { v1 } from '../../src/rest/v1/routes.ts'

/** A body of v1. */
export type Body = Record<string, unknown>

/** A request, as the load process sends it. */
export interface HttpRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

/** The variables of an operation, by their names in v1's documents: `{ tenant: 1, voucher: 2 }`. */
export type Variables = Record<string, string | number>

/** The functions that build requests for a server and read its answers. */
export interface Transport {
  /** Whether v1 omits fields without a value; over GraphQL they are null. */
  omitsNull: boolean
  /** @param operation the name of the operation, for example `ListTenants` */
  request(operation: string, variables: Variables): HttpRequest
  /**
   * @param body the body of a 200
   * @returns v1's body
   * @throws when the body reports errors
   */
  read(body: Body): Body
}

/** The names of v1's operations. */
export const operationNames = v1.operations.map(({ name }) => name)

function operationOf(name: string) {
  const operation = v1.operations.find(each => each.name === name)
  if (!operation) throw new Error(`v1 has no operation ${name}.`)
  return operation
}

/** Returns a request that posts JSON. */
export const post = (secret: string, path: string, body: object): HttpRequest => ({
  method: 'POST',
  path,
  headers: { accept: 'application/json', authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** @returns the transport of v1's paths */
export const restTransport = (secret: string): Transport => ({
  omitsNull: true,
  request(name, variables) {
    const operation = operationOf(name)
    const path = `/api/external/v1${operation.path.replace(/:(\w+)/g, (_, key) => String(variables[key]))}`
    const others = Object.entries(variables).filter(([key]) => !operation.path.includes(`:${key}`))
    if (operation.method === 'POST') return post(secret, path, Object.fromEntries(others))
    const query = new URLSearchParams(others.map(([key, value]) => [key, String(value)]))
    return {
      method: 'GET',
      path: query.size > 0 ? `${path}?${query}` : path,
      headers: { accept: 'application/json', authorization: `Bearer ${secret}` },
    }
  },
  read: body => body,
})

/**
 * Returns a document of v1 as a GraphQL client can send it: without directives, without the fields that a directive
 * includes, and without the variables of these directives. Its aliases are the names of the fields in v1.
 */
const clientDocument = (name: string): string =>
  print(
    visit(operationOf(name).document, {
      Field: field => (field.directives?.some(({ name }) => name.value === 'include') ? null : undefined),
      Directive: () => null,
      // Only `@include` takes a Boolean in v1's documents.
      VariableDefinition: variable => (print(variable.type).startsWith('Boolean') ? null : undefined),
    }),
  )

const isBody = (value: unknown): value is Body => typeof value === 'object' && value !== null

/** @returns the innermost object that has the key `data`, which is v1's body */
function bodyIn(value: unknown): Body {
  if (!isBody(value)) throw new Error('The answer has no body of v1.')
  return 'data' in value ? value : bodyIn(Object.values(value)[0])
}

/** @returns the transport of `/graphql` */
export const graphqlTransport = (secret: string): Transport => ({
  omitsNull: false,
  request: (name, variables) => post(secret, '/graphql', { query: clientDocument(name), variables }),
  read({ errors, data }) {
    if (errors) throw new Error(`GraphQL errors: ${JSON.stringify(errors).slice(0, 500)}`)
    return bodyIn(data)
  },
})

/**
 * Sends one request.
 *
 * @returns the body of the answer
 * @throws when its status is not 200
 */
export async function send(origin: string, { path, ...init }: HttpRequest): Promise<Body> {
  const response = await fetch(origin + path, init)
  if (response.status === 200) return response.json()
  throw new Error(`${path} is answered with ${response.status}: ${(await response.text()).slice(0, 300)}`)
}
