/** The schemas of v1's responses: the selections of an operation's document, with the types of the GraphQL schema. */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  getNamedType,
  getOperationAST,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { defaultPageSize } from '../../src/domain/paging/page.ts'
import { fragmentsOf } from '../../src/executor/variables.ts'
import { schema } from '../../src/graphql/schema.ts'
import type { RestOperation } from '../../src/rest/operation.ts'
import { fieldsOf, fieldsToOmit, pathToBody, responseKey } from '../../src/rest/prepare-operation.ts'
import { type JsonSchema, orNull, schemaRef } from './json-schema.ts'

/** The schema of an instant (R13). */
export const instant = {
  type: 'string',
  format: 'date-time',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`,
} as const

/** The schemas of scalars (R12, R13, R14). */
export const scalars: Record<string, JsonSchema> = {
  BigInt: { type: 'integer', format: 'int64', maximum: Number.MAX_SAFE_INTEGER },
  Int: { type: 'integer', format: 'int32' },
  Money: { type: 'number' },
  Boolean: { type: 'boolean' },
  String: { type: 'string' },
  DateTime: instant,
  Date: { type: 'string', format: 'date' },
}

/**
 * Returns the schema of an operation's response, and adds the schemas of its records to `components`. A record is named
 * after its fragment: `TenantV1` is `Tenant`.
 *
 * @throws when the document selects a field whose type has no schema
 */
export function describeResponse(operation: RestOperation, components: Record<string, JsonSchema>): JsonSchema {
  const definition = getOperationAST(operation.document)
  if (!definition) throw new Error(`${operation.name} has no operation.`)
  let parent = rootTypeOf(definition)
  let { selectionSet }: { selectionSet?: SelectionSetNode | undefined } = definition
  for (const field of pathToBody(operation.document)) {
    parent = getNamedType(fieldDefinitionOf(parent, field).type)
    selectionSet = field.selectionSet
  }
  return describeObject(parent, fieldsOf(selectionSet), {
    fragments: fragmentsOf(operation.document),
    components,
    omitted: fieldsToOmit(operation.document),
    argumentNames: operation.argumentNames,
  })
}

interface SchemaWalk {
  /** Names of v1 for arguments that descriptions mention; empty in records, whose descriptions mention fields. */
  argumentNames: RestOperation['argumentNames']
  fragments: Readonly<Record<string, FragmentDefinitionNode>>
  components: Record<string, JsonSchema>
  /** The fields that are left out when they have no value. */
  omitted: ReadonlySet<FieldNode>
}

function rootTypeOf({ operation }: OperationDefinitionNode): GraphQLNamedType {
  const root = schema.getRootType(operation)
  if (!root) throw new Error(`The schema has no ${operation}.`)
  return root
}

function fieldDefinitionOf(parent: GraphQLNamedType, { name }: FieldNode): GraphQLField<unknown, unknown> {
  const field = isObjectType(parent) ? parent.getFields()[name.value] : undefined
  if (!field) throw new Error(`${parent.name} has no field ${name.value}.`)
  return field
}

/** Fields that always have a value now. Clients must still expect null, because the contract allows null. */
const nullableByContract = new Set(['CatalogVoucher.updatedAt'])

function describeObject(parent: GraphQLNamedType, fields: readonly FieldNode[], walk: SchemaWalk): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  for (const field of fields) {
    const key = responseKey(field)
    const { type, description } = fieldDefinitionOf(parent, field)
    const value = describeType(isNonNullType(type) ? type.ofType : type, field, walk)
    const mayBeNull = !isNonNullType(type) || nullableByContract.has(`${parent.name}.${field.name.value}`)
    // When an operation has no data, its answer is an error.
    const isNullable = mayBeNull && key !== 'data'
    const omits = walk.omitted.has(field)
    const included = field.directives?.some(({ name }) => name.value === 'include') ?? false
    if (!included && !(isNullable && omits)) required.push(key)
    const about = [rewrite(key === 'data' ? bodyDescription(value) : description, omits, walk)]
    if (included) about.push(`There only when \`include\` names \`${key}\`.`)
    properties[key] = { ...(isNullable && !omits ? orNull(value) : value), description: about.join(' ') }
  }
  return { type: 'object', properties, required }
}

function describeType(type: GraphQLOutputType, field: FieldNode, walk: SchemaWalk): JsonSchema {
  if (isNonNullType(type)) return describeType(type.ofType, field, walk)
  if (isListType(type)) {
    const items = describeType(type.ofType, field, walk)
    return { type: 'array', items, ...(responseKey(field) === 'data' && { maxItems: defaultPageSize }) }
  }
  if (field.selectionSet) return describeRecord(getNamedType(type), field.selectionSet, walk)
  const scalar = scalars[getNamedType(type).name]
  if (!scalar) throw new Error(`The scalar ${getNamedType(type).name} has no JSON Schema.`)
  return scalar
}

/** Describes a record, whose selection is one fragment, as a component. */
function describeRecord(type: GraphQLNamedType, { selections }: SelectionSetNode, walk: SchemaWalk): JsonSchema {
  const [spread] = selections
  const fragment = spread?.kind === Kind.FRAGMENT_SPREAD ? walk.fragments[spread.name.value] : undefined
  if (!fragment || selections.length > 1) throw new Error(`The selection of ${type.name} must be one fragment.`)
  const name = fragment.name.value.replace(/V\d+$/, '')
  walk.components[name] = {
    ...describeObject(type, fieldsOf(fragment.selectionSet), { ...walk, argumentNames: new Map() }),
    description: type.description ?? '',
  }
  return schemaRef(name)
}

/**
 * Changes a description of the GraphQL schema into one of v1: renames its fields, and describes a missing value as v1
 * does.
 */
function rewrite(description: string | null | undefined, omits: boolean, { argumentNames }: SchemaWalk): string {
  if (!description) throw new Error('Each field of the schema has a description.')
  const named = description.replace(', as in v1', '').replace(/`([a-z]+(?:[A-Z]\w*)?)`/g, (_, name: string) => {
    const own = argumentNames.get(name) ?? name.replace(/[A-Z]/g, capital => `_${capital.toLowerCase()}`)
    return `\`${own}\``
  })
  return omits ? named.replace(/\bNull when/, 'Left out when') : named
}

const bodyDescription = ({ type }: JsonSchema) => (type === 'array' ? 'The records of this page.' : 'The record.')
