import {
  type DirectiveNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getArgumentValues,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { Permission } from '../../domain/permission.ts'
import { schema } from '../../graphql/schema.ts'

/** @returns the permissions that the fields of a document require together, each once, in the order of its fields */
export function permissionsOf(text: string): Permission[] {
  const types = new TypeInfo(schema)
  const required = new Set<Permission>()
  const Field = () => {
    const { permissions = [] } = types.getFieldDef()?.extensions.pothosOptions?.policy ?? {}
    for (const permission of permissions) required.add(permission)
  }
  visit(parse(text), visitWithTypeInfo(types, { Field }))
  return [...required]
}

/** The key of a field in the answer. */
export const keyOf = (node: FieldNode) => node.alias?.value ?? node.name.value

/** @throws when the type has no such field */
export function fieldOf(type: GraphQLObjectType, node: FieldNode): GraphQLField<unknown, unknown> {
  const field = type.getFields()[node.name.value]
  if (!field) throw new Error(`${type.name} has no field ${node.name.value}.`)
  return field
}

/** @throws when it is no object type, null or not */
export function objectTypeOf(type: GraphQLOutputType): GraphQLObjectType {
  const inner = isNonNullType(type) ? type.ofType : type
  if (!isObjectType(inner)) throw new Error(`${String(type)} is no object type.`)
  return inner
}

/** @returns whether keys without a value are left out (R11) */
export const omits = ({ directives = [] }: { directives?: readonly DirectiveNode[] }) =>
  directives.some(directive => directive.name.value === 'omitNull')

/**
 * The directives of a field.
 *
 * @returns `omitNull`, and the field itself as `condition` when it has an `@include`
 * @throws when there is another
 */
export function readDirectives(node: FieldNode): { omitNull: boolean; condition: FieldNode | null } {
  const names = (node.directives ?? []).map(directive => directive.name.value)
  for (const name of names) {
    if (name !== 'include' && name !== 'omitNull') throw new Error(`@${name} is not understood.`)
  }
  return { omitNull: omits(node), condition: names.includes('include') ? node : null }
}

/**
 * Reads the arguments of a field, as graphql-js' `getArgumentValues` does, which finds out each time what is known
 * beforehand where all of them are variables: that the types fit, a valid document has shown.
 */
export function prepareArguments(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
): (variables: Record<string, unknown>) => Record<string, unknown> {
  const given = (node.arguments ?? []).flatMap(({ name, value }) =>
    value.kind === Kind.VARIABLE ? [{ argument: name.value, variable: value.name.value }] : [],
  )
  const plain = given.length === (node.arguments ?? []).length
  if (!plain || field.args.some(({ defaultValue }) => defaultValue !== undefined)) {
    return variables => getArgumentValues(field, node, variables)
  }
  return variables => {
    const read: Record<string, unknown> = {}
    for (const { argument, variable } of given) {
      if (Object.hasOwn(variables, variable)) read[argument] = variables[variable]
    }
    return read
  }
}
