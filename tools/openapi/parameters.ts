import type { z } from 'zod'
import { listPermissions, type Permission, permissions } from '../../src/domain/token/permission.ts'
import type { RecordedAnswer } from './examples.ts'
import { toJsonSchema } from './json-schema.ts'
import type { Parameter, Reference } from './openapi.ts'

const tenantDescription = 'The `tenant_id` of a tenant of the token.'

/** Parameters that several operations share, as components of the document. */
export const parameterComponents: Record<string, Parameter> = {
  XRequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your own id for the request, which the response and our logs then have. Anything else than 1 to 128 of ' +
      '`A-Z a-z 0-9 . _ -` is replaced with a new UUID.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    example: 'sync-2026-01-31-0001',
  },
}

/** The reference to the parameter that every operation takes. */
export const requestIdParameter: Reference = { $ref: '#/components/parameters/XRequestId' }

/**
 * Describes the parameters in a path of the route table.
 *
 * @param path the path, with parameters such as `:tenant`
 * @param answer the answer whose ids become the examples
 * @param noun the noun for the record whose id is in the path
 */
export function describePath(path: string, answer: RecordedAnswer | undefined, noun = 'record'): Parameter[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const description = name === 'tenant' ? tenantDescription : `The \`id\` of a ${noun}.`
    const example = answer?.request.path?.[name]
    return {
      name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      ...(example !== undefined && { example }),
    }
  })
}

/**
 * Describes the parameters of a query. An absent value, an empty value and the word `null` mean the same (R4). The
 * elements of an array are separated by commas.
 *
 * @param answers give the examples
 */
export function describeQuery(query: z.ZodObject | undefined, answers: readonly RecordedAnswer[]): Parameter[] {
  return Object.entries(query ? (toJsonSchema(query).properties ?? {}) : {}).map(([name, described]) => {
    if (typeof described === 'boolean') throw new Error(`The parameter ${name} has no schema.`)
    const { description = '', ...schema } = described
    // Programs that read the document send the examples. A cursor is valid only for the list that made it, so the
    // example requests the first page, without a cursor.
    const example =
      name === 'cursor' ? '' : answers.map(({ request }) => request.query?.[name]).find(value => value !== undefined)
    const isArray = schema.type === 'array'
    return {
      name,
      in: 'query',
      description,
      schema,
      ...(isArray && { style: 'form', explode: false }),
      ...(example !== undefined && { example: isArray ? example.split(',') : example }),
    }
  })
}

/** Returns a sentence about the permissions that an operation needs, or that it needs none. */
export function permissionSentence(needed: readonly Permission[]): string {
  if (needed.length === 0) return 'Any valid token may call it.'
  return `Needs the ${needed.length > 1 ? 'permissions' : 'permission'} ${listPermissions(needed)}.`
}

/** The permissions as lines of a list. */
export const permissionList = Object.entries(permissions)
  .map(([name, description]) => `- \`${name}\`: ${description}`)
  .join('\n')
