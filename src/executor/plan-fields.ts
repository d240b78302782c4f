/** Plans the fields of an operation, once for each choice of the fields that `@skip` and `@include` leave. */
import {
  defaultFieldResolver,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  TypeNameMetaFieldDef,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'
import type { ColumnLayout } from '../db/row-codec.ts'
import { directResolverOf } from '../graphql/direct-resolver.ts'
import type { ColumnField, FieldPlan, FieldSource, ObjectPlan, ValuePlan } from './field-plan.ts'
import type { Run } from './resolve.ts'
import { prepareArguments } from './variables.ts'

/** Why an operation cannot be planned: graphql-js has to run it. */
export class Unplannable extends Error {
  constructor(reason: string) {
    super(`The operation cannot be planned: ${reason}.`)
  }
}

/** The state that the fields of one plan share. */
interface Selection {
  shared: Run['shared']
  /** The values of the variables in `@skip` and `@include`. */
  conditions: Record<string, boolean>
  /** Fields whose key is left out when they are null. */
  omitNull: ReadonlySet<FieldNode>
  /** Counts a field, and throws `Unplannable` when there are too many. */
  count(): void
}

/** Plans the root fields of an operation, with all that is selected below them. */
export function planRoot(type: GraphQLObjectType, selection: Selection): ObjectPlan {
  const { shared, conditions } = selection
  const { schema, fragments, operation } = shared
  const nodes = collectFields(schema, fragments, conditions, type, operation.selectionSet)
  return planObject(type, nodes, selection, 0)
}

/** Plans the fields of an object, whose keys are at `depth` in the path of an error. */
function planObject(
  type: GraphQLObjectType,
  nodes: ReadonlyMap<string, readonly FieldNode[]>,
  selection: Selection,
  depth: number,
): ObjectPlan {
  const fields = [...nodes].map(([key, same]) => planField(type, key, same, selection, depth))
  return { kind: 'object', type, fields, columnsOf: createColumnFinder(fields) }
}

function planField(
  parentType: GraphQLObjectType,
  key: string,
  nodes: readonly FieldNode[],
  selection: Selection,
  depth: number,
): FieldPlan {
  const node = nodes[0]!
  const { value: name } = node.name
  const isTypename = name === TypeNameMetaFieldDef.name
  const field = isTypename ? TypeNameMetaFieldDef : parentType.getFields()[name]
  if (!field) throw new Unplannable(`${parentType.name} has no field ${name} of its own`)
  selection.count()
  return {
    key,
    prefix: Buffer.from(`,${JSON.stringify(key)}:${isTypename ? JSON.stringify(parentType.name) : ''}`),
    nodes,
    parentType,
    field,
    source: isTypename ? { kind: 'typename' } : sourceOf(field),
    depth,
    nonNull: isNonNullType(field.type),
    omitNull: selection.omitNull.has(node),
    value: planValue(field.type, nodes, selection, depth),
    readArguments: prepareArguments(field, node, selection.shared.operation.variableDefinitions ?? []),
  }
}

function planValue(
  type: GraphQLOutputType,
  nodes: readonly FieldNode[],
  selection: Selection,
  depth: number,
): ValuePlan {
  if (isNonNullType(type)) return planValue(type.ofType, nodes, selection, depth)
  if (isLeafType(type)) return { kind: 'leaf', type }
  if (isListType(type)) {
    const item = planValue(type.ofType, nodes, selection, depth + 1)
    return { kind: 'list', item, nonNullItems: isNonNullType(type.ofType) }
  }
  if (!isObjectType(type)) throw new Unplannable(`${type.name} is no object type`)
  if (type.isTypeOf) throw new Unplannable(`${type.name} checks its values`)
  const { schema, fragments } = selection.shared
  return planObject(type, collectSubfields(schema, fragments, selection.conditions, type, nodes), selection, depth + 1)
}

/** A resolver is skipped only when the policy plugin has marked it: reading the property or the batch then does the same. */
function sourceOf({ name, args, resolve = defaultFieldResolver }: FieldPlan['field']): FieldSource {
  if (args.length > 0) return { kind: 'resolver', resolve }
  if (resolve === defaultFieldResolver) return { kind: 'default', name }
  return directResolverOf(resolve) ?? { kind: 'resolver', resolve }
}

/** Caches the columns of the last layout: the rows of one place nearly always have the same layout. */
function createColumnFinder(fields: readonly FieldPlan[]): ObjectPlan['columnsOf'] {
  let lastLayout: ColumnLayout | undefined
  let columns: readonly (ColumnField | null)[] = []
  return layout => {
    if (layout !== lastLayout) {
      columns = fields.map(field => columnOf(field, layout))
      lastLayout = layout
    }
    return columns
  }
}

function columnOf({ field, source, prefix, nonNull, omitNull }: FieldPlan, layout: ColumnLayout): ColumnField | null {
  // A `default` field has no resolver that a policy could be in: graphql-js reads the property, too.
  if (source.kind !== 'property' && source.kind !== 'default') return null
  const column = layout.get(source.name)
  const type = isNonNullType(field.type) ? field.type.ofType : field.type
  if (column?.codec.scalar !== String(type)) return null
  return { prefix, nonNull, omitNull, offset: column.offset, writeJson: column.codec.writeJson }
}
