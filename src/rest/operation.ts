/**
 * Operations of a version of REST. An operation is a path with a GraphQL document, and the data of the document is the
 * response.
 */
import type { FastifyRequest } from 'fastify'
import {
  type ArgumentNode,
  type DocumentNode,
  getOperationAST,
  Kind,
  type ObjectFieldNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { z } from 'zod'
import type { FieldErrors } from '../domain/errors.ts'
import type { Permission } from '../domain/token/permission.ts'
import { parseIdentifier } from '../domain/value/identifier.ts'
import { schema } from '../graphql/schema.ts'
import type { OperationDocument } from './documents.ts'
import { prepareOperation, type RunOperation } from './prepare-operation.ts'

/**
 * The source of an operation's variables, except those in the path. The schemas describe the values that `read`
 * accepts, for clients. The service does not validate with the schemas, because `read` checks the values faster.
 */
export interface InputSource<Variables> {
  /** Returns variables of the operation's document. @param fieldErrors receives the errors that only REST can find */
  read: (request: FastifyRequest, fieldErrors: FieldErrors) => Variables
  /** The schemas of the query parameters. An array is written as one text with commas. */
  query?: z.ZodObject
  body?: z.ZodType
}

export interface RestOperation {
  name: string
  method: 'GET' | 'POST'
  /** The path below the path of the version. Parameters in it are written as `:tenant`. */
  path: string
  permissions: readonly Permission[]
  /** A sentence that describes the content of the response. */
  returns: string
  document: DocumentNode
  run: RunOperation
  input: InputSource<object>
  /** The version's names for arguments of the schema, such as `cursor` for `after`. Field errors use them. */
  argumentNames: ReadonlyMap<string, string>
}

type PathNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/**
 * Creates an operation from a document. The variables of the document are the ids in the path and the values that
 * `input` reads.
 *
 * @param path the path below the version; its ids become variables with the same names
 * @param returns the content of the response, in a sentence
 * @throws when the document cannot be run
 */
export function operation<const Path extends string, Variables extends Record<PathNames<Path>, string>>(
  method: 'GET' | 'POST',
  path: Path,
  document: OperationDocument<Variables>,
  input: InputSource<Omit<Variables, PathNames<Path>>>,
  returns: string,
): RestOperation {
  return {
    ...describe(document),
    method,
    path,
    returns,
    document,
    run: prepareOperation(document),
    input: {
      ...input,
      read: (request, fieldErrors) => Object.assign(readPath(request), input.read(request, fieldErrors)),
    },
  }
}

/** Returns the ids in the path. For text that is not a numeric id (R7), returns an id that no record has. */
function readPath(request: FastifyRequest): Record<string, string> {
  const ids: Record<string, string> = {}
  for (const [name, text] of Object.entries(request.params ?? {})) ids[name] = `${parseIdentifier(String(text)) ?? ''}`
  return ids
}

/** Returns the name of a document, the permissions of its fields, and the variables for its arguments. */
function describe(document: DocumentNode): Pick<RestOperation, 'name' | 'permissions' | 'argumentNames'> {
  const types = new TypeInfo(schema)
  const permissions = new Set<Permission>()
  const argumentNames = new Map<string, string>()
  const nameArgument = ({ name, value }: ArgumentNode | ObjectFieldNode) => {
    if (value.kind === Kind.VARIABLE) argumentNames.set(name.value, value.name.value)
  }
  const Field = () => {
    const { policy } = types.getFieldDef()?.extensions.pothosOptions ?? {}
    for (const permission of policy?.permissions ?? []) permissions.add(permission)
  }
  visit(document, visitWithTypeInfo(types, { Field, Argument: nameArgument, ObjectField: nameArgument }))
  const name = getOperationAST(document)?.name?.value
  if (!name) throw new Error('A document of REST has one operation with a name.')
  return { name, permissions: [...permissions], argumentNames }
}
