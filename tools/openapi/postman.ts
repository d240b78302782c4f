/** Makes the Postman collection (format 2.1) of the OpenAPI document. */
import type { OpenApiDocument } from './document.ts'
import type { OperationObject, Parameter, Reference } from './openapi.ts'

/** A collection, as Postman imports it. */
export type PostmanCollection = ReturnType<typeof describeCollection>

/** Postman replaces this text with the value of the variable. */
const placeholder = (variable: string) => `{{${variable}}}`

/** Leaves out the parameters that are components, because no request needs them. */
const ownParameters = (parameters: readonly (Parameter | Reference)[] = []): Parameter[] =>
  parameters.flatMap(parameter => ('$ref' in parameter ? [] : [parameter]))

/**
 * Makes the collection: a folder for each tag, a request for each operation. Its variables are the address, the token and
 * the ids in paths, with the examples of the document as values.
 */
export function describeCollection({ info, servers, tags, paths }: OpenApiDocument) {
  const operations = Object.entries(paths).flatMap(([template, { servers: own, get, post }]) => {
    // The keys are for programs of the platform.
    if (own) return []
    const path = `${servers[0]?.url}${template}`
    return [
      ...(get ? [{ method: 'GET' as const, path, ...get }] : []),
      ...(post ? [{ method: 'POST' as const, path, ...post }] : []),
    ]
  })
  const ids = Object.values(paths).flatMap(({ parameters }) => ownParameters(parameters))
  const variables = new Map<string, unknown>([
    ['baseUrl', 'http://localhost:8080'],
    ['token', ''],
    // The first example of an id is kept.
    ...ids.reverse().map(({ name, example }): [string, unknown] => [name, example]),
  ])
  return {
    info: {
      name: info.title,
      description:
        'Set the variables of the collection first: `baseUrl` is the address of the service, `token` your token, and ' +
        '`tenant` the `tenant_id` of a tenant that it reaches. The other variables are ids of records of that tenant.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: placeholder('token'), type: 'string' }] },
    variable: [...variables].map(([key, value]) => ({ key, value: String(value), type: 'string' })),
    item: tags.map(({ name, description }) => ({
      name,
      description,
      item: operations.filter(operation => operation.tags.includes(name)).map(describeRequest),
    })),
  }
}

/** The parameters of the query are disabled, because a list without parameters answers with its first page. */
function describeRequest(operation: OperationObject & { method: 'GET' | 'POST'; path: string }) {
  const { method, summary, description, responses, requestBody } = operation
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => placeholder(name))
  const { 200: answer } = responses
  const accept = answer && 'content' in answer ? Object.keys(answer.content).join() : ''
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const [example] = Object.values(body?.examples ?? {})
  return {
    name: summary,
    request: {
      method,
      description,
      header: [{ key: 'Accept', value: accept }, ...(type === undefined ? [] : [{ key: 'Content-Type', value: type }])],
      url: {
        raw: placeholder('baseUrl') + path,
        host: [placeholder('baseUrl')],
        path: path.slice(1).split('/'),
        query: ownParameters(operation.parameters).map(({ name, example, description }) => ({
          key: name,
          value: String(example),
          description,
          disabled: true,
        })),
      },
      ...(example && {
        body: { mode: 'raw', raw: JSON.stringify(example.value, null, 2), options: { raw: { language: 'json' } } },
      }),
    },
  }
}
