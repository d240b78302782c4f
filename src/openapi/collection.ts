/** Makes a Postman collection (format 2.1) of the OpenAPI document. Bruno and Insomnia import it too. */
import type { MediaType, OpenApiDocument, OperationObject, Parameter, PathItem, Reference } from './openapi.ts'

/** A collection of requests. */
export interface Collection {
  info: { name: string; description: string; schema: string }
  auth: { type: 'bearer'; bearer: { key: 'token'; value: string; type: 'string' }[] }
  variable: Variable[]
  item: { name: string; description: string; item: CollectionItem[] }[]
}

interface Variable {
  key: string
  value: string
  description: string
}

/** A request, with answers to it. */
interface CollectionItem {
  name: string
  request: {
    method: string
    description: string
    header: { key: string; value: string }[]
    url: { raw: string; host: string[]; path: string[]; query: (Variable & { disabled: true })[]; variable: Variable[] }
    body?: { mode: 'raw'; raw: string; options: { raw: { language: 'json' } } }
  }
  response: { name: string; code: number; header: { key: string; value: string }[]; body: string }[]
}

/** Makes the collection: a folder for each tag, with its operations. Query parameters are there, but not active. */
export function toCollection(document: OpenApiDocument): Collection {
  const { info, tags, servers } = document
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    (['get', 'post'] as const).flatMap(method => {
      const operation = item[method]
      return operation ? [{ tags: operation.tags, item: toItem(document, path, method, item, operation) }] : []
    }),
  )
  return {
    info: {
      name: info.title,
      description: info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}', type: 'string' }] },
    variable: [
      {
        key: 'baseUrl',
        value: `http://localhost:8080${servers[0]?.url ?? ''}`,
        description: 'The address of the service, up to the version.',
      },
      { key: 'token', value: '', description: 'A token of the API access page.' },
    ],
    item: tags.map(({ name, description }) => ({
      name,
      description,
      item: operations.filter(operation => operation.tags.includes(name)).map(({ item }) => item),
    })),
  }
}

function toItem(
  document: OpenApiDocument,
  path: string,
  method: 'get' | 'post',
  { parameters = [] }: PathItem,
  operation: OperationObject,
): CollectionItem {
  const all = [...parameters, ...operation.parameters].map(parameter => resolveParameter(document, parameter))
  const segments = path.slice(1).replaceAll(/\{(\w+)\}/g, ':$1')
  const good = operation.responses[200]
  const [type = '', body] = (good && 'content' in good && Object.entries(good.content)[0]) || []
  const payload = firstExample(Object.values(operation.requestBody?.content ?? {})[0])
  return {
    name: operation.summary,
    request: {
      method: method.toUpperCase(),
      description: operation.description,
      header: [
        { key: 'Accept', value: type },
        ...(operation.requestBody ? [{ key: 'Content-Type', value: 'application/json' }] : []),
      ],
      url: {
        raw: `{{baseUrl}}/${segments}`,
        host: ['{{baseUrl}}'],
        path: segments.split('/'),
        query: all.filter(it => it.in === 'query').map(it => ({ ...toVariable(it), disabled: true })),
        variable: all.filter(it => it.in === 'path').map(toVariable),
      },
      ...(payload !== undefined && {
        body: { mode: 'raw', raw: toText(payload), options: { raw: { language: 'json' } } },
      }),
    },
    response: Object.values(body?.examples ?? {}).map(({ summary, value }) => ({
      name: summary,
      code: 200,
      header: [{ key: 'Content-Type', value: type }],
      body: toText(value),
    })),
  }
}

/** @throws when the document has no such component */
function resolveParameter({ components }: OpenApiDocument, parameter: Parameter | Reference): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = components.parameters[parameter.$ref.split('/').at(-1) ?? '']
  if (!found) throw new Error(`The document has no ${parameter.$ref}.`)
  return found
}

const toVariable = ({ name, description, example }: Parameter): Variable => ({
  key: name,
  value: String(example ?? ''),
  description,
})

const firstExample = (body: MediaType | undefined): unknown => Object.values(body?.examples ?? {})[0]?.value

const toText = (value: unknown) => JSON.stringify(value, null, 2)
