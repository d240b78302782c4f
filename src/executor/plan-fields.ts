/**
 * Walks the fields of an operation, once per combination of `@skip` and `@include`. Plans the fields, and estimates
 * their size. The document need not be valid.
 */
import {
  defaultFieldResolver,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'
import type { ColumnLayout } from '../db/row/row-codec.ts'
import { columnTypes } from '../graphql/columns.ts'
import { directResolverOf } from '../graphql/direct-resolver.ts'
import { type Estimate, Estimates, emptySize } from './estimate.ts'
import type { ColumnField, FieldPlan, FieldSource, ObjectPlan, ValuePlan } from './field-plan.ts'
import type { Run } from './resolve.ts'
import { prepareArguments } from './variables.ts'

/**
 * The maximum number of fields of a plan, counted at every place where they occur, because fragments can repeat a field
 * at exponentially many places.
 */
const maxPlannedFields = 25_000

/** The plan of a part of an operation, with its size. Null when only graphql-js can run the part. */
interface PlannedSelection<Plan> {
  plan: Plan | null
  estimate: Estimate
}

interface Selection {
  shared: Run['shared']
  /** The values of the variables in `@skip` and `@include`. */
  conditions: Record<string, unknown>
  /** The fields whose key is left out of the answer when their value is null. */
  omitNull: ReadonlySet<FieldNode>
}

/** Plans the fields of one operation, for one combination of conditions. */
export class FieldPlanner {
  readonly estimates = new Estimates()
  /** The number of planned fields. A field that fragments repeat in several places counts once. */
  fields = 0
  readonly #numbers = new Map<FieldNode, number>()
  /**
   * The plans by parent type and nodes. Null while the field is being planned: when a field is found null again,
   * fragments form a cycle.
   */
  readonly #planned = new Map<string, PlannedSelection<FieldPlan> | null>()
  #collected = 0

  constructor(private readonly selection: Selection) {}

  /**
   * Plans the root fields with their selections.
   *
   * @throws when the operation is not valid, or too large to be planned
   */
  planRoot(type: GraphQLObjectType): PlannedSelection<ObjectPlan> {
    const { shared, conditions } = this.selection
    const { schema, fragments, operation } = shared
    return this.#planObject(type, collectFields(schema, fragments, conditions, type, operation.selectionSet))
  }

  #planObject(type: GraphQLObjectType, nodes: ReadonlyMap<string, readonly FieldNode[]>): PlannedSelection<ObjectPlan> {
    const planned = [...nodes].map(([key, same]) => this.#planField(type, key, same))
    const estimate = this.estimates.ofFields(planned.map(field => field.estimate))
    const fields = planned.map(({ plan }) => plan).filter(plan => plan !== null)
    if (fields.length < planned.length) return { plan: null, estimate }
    return { plan: { kind: 'object', type, fields, columnsOf: createColumnFinder(fields) }, estimate }
  }

  #planField(parentType: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): PlannedSelection<FieldPlan> {
    this.#collected += nodes.length
    if (this.#collected > maxPlannedFields) throw new Error(`It selects more than ${maxPlannedFields} fields.`)
    const place = `${parentType.name} ${nodes.map(node => this.#numberOf(node)).join()}`
    const known = this.#planned.get(place)
    if (known) return known
    if (known === null) throw new Error('Its fragments form a cycle.')
    this.#planned.set(place, null)
    const planned = this.#makeField(parentType, key, nodes)
    this.#planned.set(place, planned)
    this.fields++
    return planned
  }

  #makeField(parentType: GraphQLObjectType, key: string, nodes: readonly FieldNode[]): PlannedSelection<FieldPlan> {
    const node = nodes[0]!
    const { value: name } = node.name
    const { shared, omitNull } = this.selection
    const field = fieldOf(shared.schema, parentType, name)
    if (!field) throw new Error(`${parentType.name} has no field ${name}.`)
    const isTypename = field === TypeNameMetaFieldDef
    const readArguments = prepareArguments(field, node, shared.operation.variableDefinitions ?? [])
    const value = this.#planValue(field.type, nodes)
    const estimate = this.estimates.ofField(parentType, field, node, readArguments, value.estimate)
    if (!value.plan) return { plan: null, estimate }
    const plan: FieldPlan = {
      key,
      prefix: Buffer.from(`,${JSON.stringify(key)}:${isTypename ? JSON.stringify(parentType.name) : ''}`),
      nodes,
      parentType,
      field,
      source: isTypename ? { kind: 'typename' } : sourceOf(field),
      nonNull: isNonNullType(field.type),
      omitNull: omitNull.has(node),
      value: value.plan,
      readArguments,
    }
    return { plan, estimate }
  }

  #planValue(type: GraphQLOutputType, nodes: readonly FieldNode[]): PlannedSelection<ValuePlan> {
    if (isNonNullType(type)) return this.#planValue(type.ofType, nodes)
    if (isListType(type)) {
      const { plan: item, estimate } = this.#planValue(type.ofType, nodes)
      return { plan: item && { kind: 'list', item, nonNullItems: isNonNullType(type.ofType) }, estimate }
    }
    if (isLeafType(type)) return { plan: { kind: 'leaf', type }, estimate: emptySize }
    if (isAbstractType(type)) {
      const types = this.selection.shared.schema.getPossibleTypes(type)
      const estimates = types.map(possible => this.#planSubfields(possible, nodes).estimate)
      return { plan: null, estimate: this.estimates.ofTypes(estimates) }
    }
    const planned = this.#planSubfields(type, nodes)
    // The executor does not call `isTypeOf`, so graphql-js runs operations on a type that has this function.
    return type.isTypeOf ? { ...planned, plan: null } : planned
  }

  #planSubfields(type: GraphQLObjectType, nodes: readonly FieldNode[]): PlannedSelection<ObjectPlan> {
    const { shared, conditions } = this.selection
    return this.#planObject(type, collectSubfields(shared.schema, shared.fragments, conditions, type, nodes))
  }

  #numberOf(node: FieldNode): number {
    const known = this.#numbers.get(node) ?? this.#numbers.size
    this.#numbers.set(node, known)
    return known
  }
}

/** Returns a field of a type, or of introspection (GraphQL, §4). */
function fieldOf(schema: GraphQLSchema, type: GraphQLObjectType, name: string): FieldPlan['field'] | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef
  const ofQuery = type === schema.getQueryType() ? [SchemaMetaFieldDef, TypeMetaFieldDef] : []
  return ofQuery.find(field => field.name === name) ?? type.getFields()[name]
}

/**
 * Returns the source of a field. A resolver is skipped only when the policy plugin has marked it. The mark means that
 * reading the property, or calling the batch form, has the same result.
 */
function sourceOf({ name, args, resolve = defaultFieldResolver }: FieldPlan['field']): FieldSource {
  if (args.length > 0) return { kind: 'resolver', resolve }
  if (resolve === defaultFieldResolver) return { kind: 'default', name }
  const direct = directResolverOf(resolve)
  if (!direct) return { kind: 'resolver', resolve }
  return direct.kind === 'column' ? { kind: 'resolver', resolve, column: direct.name } : direct
}

/**
 * Creates a finder of columns that caches its last result, because the rows at one place nearly always have the same
 * layout.
 */
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

/** Returns the property of a row that is the field's value; undefined for a field with another source. */
function propertyOf(source: FieldSource): string | undefined {
  // A `default` field has no resolver, and therefore no policy. graphql-js would also read the property.
  if (source.kind === 'property' || source.kind === 'default') return source.name
  return source.kind === 'resolver' ? source.column : undefined
}

function columnOf({ field, source, prefix, nonNull, omitNull }: FieldPlan, layout: ColumnLayout): ColumnField | null {
  const column = layout.get(propertyOf(source) ?? '')
  const type = isNonNullType(field.type) ? field.type.ofType : field.type
  if (!column || columnTypes[column.kind] !== String(type)) return null
  return { prefix, nonNull, omitNull, offset: column.offset, writeJson: column.codec.writeJson }
}
