/** Makes the operations of the document from the route table of v1. */
import { defaultPageSize } from '../../src/domain/paging/page.ts'
import type { RestOperation } from '../../src/rest/operation.ts'
import { errorReferences } from './error-responses.ts'
import { type RecordedAnswer, toExamples } from './examples.ts'
import { always, describeHeaders, rateLimitHeaders } from './headers.ts'
import { type JsonSchema, schemaRef, toJsonSchema } from './json-schema.ts'
import type { OperationObject, PathItem } from './openapi.ts'
import { describePath, describeQuery, permissionSentence, requestIdParameter } from './parameters.ts'
import { describeResponse } from './record-schemas.ts'

/** The parts of the document that operations add to. */
export interface DocumentParts {
  paths: Record<string, PathItem>
  schemas: Record<string, JsonSchema>
  tags: { name: string; description: string }[]
}

/** The scheme of the tokens. */
export const bearerScheme = 'bearerToken'

const json = 'application/json'

const listText =
  `Ordered by \`updated_at\`, then \`id\`; at most ${defaultPageSize} records on a page. Send \`next_cursor\` as ` +
  '`cursor` for the next page, until it is null.'

/** Returns the tag of a path: the word that names its area. */
function tagOf(path: string): string {
  const area = path.split('/').find((part, index) => index > 0 && part !== 'tenants' && !part.startsWith(':'))
  const word = area ?? 'tenants'
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** Returns the id of an operation: `listCatalogVouchers` for `ListCatalogVouchers`. */
export const idOf = ({ name }: Pick<RestOperation, 'name'>): string => name.charAt(0).toLowerCase() + name.slice(1)

/** Returns a name as words: `List catalog vouchers` for `ListCatalogVouchers`. */
export const toWords = (name: string): string => name.replace(/(?!^)[A-Z]/g, capital => ` ${capital.toLowerCase()}`)

/** Returns the name of the schema of an operation's records: `CatalogVoucher`. */
function recordName(operation: RestOperation, body: JsonSchema): string {
  const data = body.properties?.data
  const items = typeof data === 'object' && data.type === 'array' ? data.items : data
  const record = typeof items === 'object' && !Array.isArray(items) ? items.$ref?.split('/').at(-1) : undefined
  if (record === undefined) throw new Error(`${operation.name} answers with no record.`)
  return record
}

const isList = (body: JsonSchema) => body.properties?.next_cursor !== undefined

/** Returns a path of the route table in the form of OpenAPI: `/tenants/{tenant}`. */
export const toTemplate = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

/**
 * Adds an operation of the route table to the paths, its schemas to `schemas`, and its tag, which its records describe.
 *
 * @param base the prefix of its path: `/v1`
 * @param answers real answers, as examples
 */
export function addOperation(
  { paths, schemas, tags }: DocumentParts,
  base: string,
  route: RestOperation,
  answers: readonly RecordedAnswer[],
): void {
  const { method, path, permissions, returns, input } = route
  const operationId = idOf(route)
  const good = answers.filter(({ operation, status }) => operation === operationId && status === 200)
  const body = describeResponse(route, schemas)
  const record = recordName(route, body)
  const name = record + (isList(body) ? 'Page' : 'Response')
  schemas[name] = body
  const tag = tagOf(path)
  if (!tags.some(each => each.name === tag)) tags.push({ name: tag, description: schemas[record]?.description ?? '' })
  const described: OperationObject = {
    operationId,
    tags: [tag],
    summary: toWords(route.name),
    description: [returns, ...(isList(body) ? [listText] : []), permissionSentence(permissions)].join('\n\n'),
    security: [{ [bearerScheme]: [...permissions] }],
    parameters: [...describeQuery(input.query, good), requestIdParameter],
    ...(input.body && { requestBody: describeBody(input.body, good) }),
    responses: {
      200: {
        description: returns,
        headers: describeHeaders([...always, ...rateLimitHeaders, 'Vary', 'Content-Encoding']),
        content: {
          [json]: {
            schema: schemaRef(name),
            ...toExamples(good.map(answer => ({ summary: answer.summary, value: answer.body }))),
          },
        },
      },
      ...errorReferences(input.body !== undefined),
    },
  }
  const template = base + toTemplate(path)
  const parameters = describePath(path, good[0], toWords(record).toLowerCase())
  paths[template] = {
    ...(parameters.length > 0 && { parameters }),
    ...paths[template],
    [method === 'GET' ? 'get' : 'post']: described,
  }
}

function describeBody(body: NonNullable<RestOperation['input']['body']>, answers: readonly RecordedAnswer[]) {
  const { description = '', ...schema } = toJsonSchema(body)
  const requests = answers.map(({ summary, request }) => ({ summary, value: request.body }))
  return { description, required: true, content: { [json]: { schema, ...toExamples(requests) } } }
}
