/** Plans operations of GraphQL documents for the breadth-first executor. */
import {
  type DocumentNode,
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getOperationAST,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'
import type { ColumnLayout } from '../db/row-codec.ts'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import { directResolverOf } from '../graphql/direct-resolver.ts'
import { encodeText } from './body-buffers.ts'
import type { Column, FieldPlan, FieldSource, ObjectPlan, Run, ValuePlan } from './field-plan.ts'
import { resolveLevel } from './resolve.ts'
import { Answer, type Level, writeObject } from './serialize.ts'
import { prepareArguments, prepareVariables, type ReadVariables } from './variables.ts'

/** What running an operation gives. */
export interface ExecutionOutcome {
  /** The value of `data`, as JSON text in UTF-8. */
  data: Buffer
  /** The field errors, located, in the order of the document. */
  errors: readonly GraphQLError[]
}

/** What a transport decides about the plans of an operation. */
export interface PlanOptions {
  /** Fields whose key is left out of the answer when their value is null. */
  omitNull?: ReadonlySet<FieldNode>
  /** The most fields that all plans of the operation have together, each counted where it stands in the answer. */
  maxFields?: number
  /** The most combinations of values of the variables in `@skip` and `@include` that are planned. */
  maxVariants?: number
  /** Plans all combinations at once, and throws when one cannot be planned. */
  required?: boolean
}

/** An operation that this executor can run. */
export interface Plan {
  /** How many fields are planned until now, in all combinations. */
  readonly fields: number
  /**
   * Runs the operation, with an undefined root value.
   *
   * @param context the context value of the resolvers
   * @param variables as the caller sent them
   * @returns the outcome, at once when no resolver returns a promise; null when graphql-js has to run the operation,
   *   because the variables are faulty or a limit of the options is exceeded. No resolver has been called then.
   */
  run(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): ExecutionOutcome | Promise<ExecutionOutcome> | null
}

/**
 * Plans an operation of a valid document.
 *
 * @param operationName the operation's name; null for the only one
 * @returns null when graphql-js has to run it, for example because a field returns an interface
 * @throws when it is `required` and cannot be planned
 */
export function planOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null,
  options: PlanOptions = {},
): Plan | null {
  try {
    const operation = getOperationAST(document, operationName)
    if (!operation) throw new Unplannable('there is no such operation')
    const plan = new OperationPlan(schema, document, operation, options)
    if (options.required) plan.planAll()
    return plan
  } catch (error) {
    if (options.required || !(error instanceof Unplannable)) throw error
    return null
  }
}

/** Why an operation cannot be planned. */
class Unplannable extends Error {
  constructor(reason: string) {
    super(`The operation cannot be planned: ${reason}.`)
  }
}

/** The values of the variables that decide which fields are selected. */
type Conditions = Record<string, boolean>

class OperationPlan implements Plan {
  fields = 0
  readonly #shared: Run['shared']
  readonly #rootType: GraphQLObjectType
  readonly #readVariables: ReadVariables
  readonly #options: PlanOptions
  /** The names of the variables in `@skip` and `@include`. */
  readonly #conditionNames: readonly string[]
  /** By the values of these variables. Null: cannot be planned. */
  readonly #variants = new Map<string, ObjectPlan | null>()

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, options: PlanOptions) {
    const rootType = schema.getRootType(operation.operation)
    if (!rootType || operation.operation === OperationTypeNode.SUBSCRIPTION) {
      throw new Unplannable(`it is a ${operation.operation}`)
    }
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null)
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition
    }
    this.#shared = { schema, fragments, operation, rootValue: undefined }
    this.#rootType = rootType
    this.#options = options
    const { variableDefinitions = [] } = operation
    this.#readVariables = prepareVariables(schema, variableDefinitions)
    const conditions = conditionVariablesOf(document)
    this.#conditionNames = variableDefinitions
      .map(({ variable }) => variable.name.value)
      .filter(name => conditions.has(name))
    // Without conditions there is one plan, and it shows at once whether there is any.
    if (this.#conditionNames.length === 0) this.#plan({}, '')
  }

  planAll(): void {
    const names = this.#conditionNames
    for (let choice = 0; choice < 2 ** names.length; choice++) {
      const values = names.map((_, index) => (choice & (1 << index)) !== 0)
      this.#plan(Object.fromEntries(names.map((name, index) => [name, values[index]!])), values.join())
    }
  }

  run(context: unknown, inputs: Readonly<Record<string, unknown>>) {
    const variables = this.#readVariables(inputs)
    const plan = variables && this.#variantFor(variables)
    if (!plan) return null
    const run: Run = { context, variables, shared: this.#shared }
    const isSerial = this.#shared.operation.operation === OperationTypeNode.MUTATION && plan.fields.length > 1
    if (isSerial) return runSerially(plan, run)
    return mapMaybePromise(
      resolveLevel(plan, [undefined], run, () => undefined),
      level => serialize(new Answer(), plan, level),
    )
  }

  #variantFor(variables: Record<string, unknown>): ObjectPlan | null {
    const names = this.#conditionNames
    if (names.length === 0) return this.#variants.get('') ?? null
    const key = names.map(name => variables[name]).join()
    const known = this.#variants.get(key)
    if (known !== undefined) return known
    if (this.#variants.size >= (this.#options.maxVariants ?? Number.POSITIVE_INFINITY)) return null
    const conditions: Conditions = Object.create(null)
    for (const name of names) {
      const value = variables[name]
      if (typeof value !== 'boolean') return null
      conditions[name] = value
    }
    try {
      return this.#plan(conditions, key)
    } catch (error) {
      if (!(error instanceof Unplannable)) throw error
      this.#variants.set(key, null)
      return null
    }
  }

  #plan(conditions: Conditions, key: string): ObjectPlan {
    const { schema, fragments, operation } = this.#shared
    const nodes = collectFields(schema, fragments, conditions, this.#rootType, operation.selectionSet)
    const plan = this.#planObject(this.#rootType, nodes, conditions, 0)
    this.#variants.set(key, plan)
    return plan
  }

  /** @param depth the index of the object's keys in the path of an error */
  #planObject(
    type: GraphQLObjectType,
    nodes: ReadonlyMap<string, readonly FieldNode[]>,
    conditions: Conditions,
    depth: number,
  ): ObjectPlan {
    const fields = [...nodes].map(([key, [node, ...more]]) =>
      this.#planField(type, key, [node!, ...more], conditions, depth),
    )
    return { kind: 'object', type, fields, columnsOf: createColumnFinder(fields) }
  }

  #planField(
    parentType: GraphQLObjectType,
    key: string,
    nodes: readonly [FieldNode, ...FieldNode[]],
    conditions: Conditions,
    depth: number,
  ): FieldPlan {
    const [node] = nodes
    const name = node.name.value
    const isTypename = name === TypeNameMetaFieldDef.name
    const field = isTypename ? TypeNameMetaFieldDef : parentType.getFields()[name]
    if (!field) throw new Unplannable(`${parentType.name} has no field ${name} of its own`)
    if (++this.fields > (this.#options.maxFields ?? Number.POSITIVE_INFINITY)) throw new Unplannable('it is too large')
    const source: FieldSource = isTypename ? { kind: 'typename' } : sourceOf(field)
    const text = `${JSON.stringify(key)}:${isTypename ? JSON.stringify(parentType.name) : ''}`
    return {
      key,
      prefix: encodeText(`,${text}`),
      nodes,
      parentType,
      field,
      source,
      depth,
      nonNull: isNonNullType(field.type),
      omitNull: this.#options.omitNull?.has(node) ?? false,
      value: this.#planValue(field.type, nodes, conditions, depth),
      readArguments: prepareArguments(field, node, this.#shared.operation.variableDefinitions ?? []),
    }
  }

  #planValue(type: GraphQLOutputType, nodes: readonly FieldNode[], conditions: Conditions, depth: number): ValuePlan {
    if (isNonNullType(type)) return this.#planValue(type.ofType, nodes, conditions, depth)
    if (isLeafType(type)) return { kind: 'leaf', type }
    if (isListType(type)) {
      const item = this.#planValue(type.ofType, nodes, conditions, depth + 1)
      return { kind: 'list', item, nonNullItems: isNonNullType(type.ofType) }
    }
    if (!isObjectType(type)) throw new Unplannable(`${type.name} is no object type`)
    const { schema, fragments } = this.#shared
    const selected = collectSubfields(schema, fragments, conditions, type, nodes)
    return this.#planObject(type, selected, conditions, depth + 1)
  }
}

/** @returns the names of the variables in `@skip` and `@include`, of all operations */
function conditionVariablesOf(document: DocumentNode): Set<string> {
  const names = new Set<string>()
  visit(document, {
    Directive({ name, arguments: [argument] = [] }) {
      const isCondition = name.value === 'skip' || name.value === 'include'
      if (isCondition && argument?.value.kind === Kind.VARIABLE) names.add(argument.value.name.value)
    },
  })
  return names
}

/** A resolver is passed by when it is marked as one without a policy that does no more than what is done instead. */
function sourceOf({ name, args, resolve = defaultFieldResolver }: FieldPlan['field']): FieldSource {
  if (args.length > 0) return { kind: 'resolver', resolve }
  if (resolve === defaultFieldResolver) return { kind: 'default', name }
  return directResolverOf(resolve) ?? { kind: 'resolver', resolve }
}

/** Finds the columns once for each layout that follows another: a level has nearly always the same. */
function createColumnFinder(fields: readonly FieldPlan[]): ObjectPlan['columnsOf'] {
  let known: ColumnLayout | undefined
  let columns: readonly (Column | null)[] = []
  return layout => {
    if (layout !== known) {
      columns = fields.map(field => columnOf(field, layout))
      known = layout
    }
    return columns
  }
}

function columnOf({ field, source, value, prefix, nonNull, omitNull }: FieldPlan, layout: ColumnLayout): Column | null {
  if (value.kind === 'object' || (source.kind !== 'property' && source.kind !== 'default')) return null
  const column = layout.get(source.name)
  const type = isNonNullType(field.type) ? field.type.ofType : field.type
  if (!column?.codec.scalars.includes(String(type))) return null
  return { prefix, nonNull, omitNull, offset: column.offset, writeJson: column.codec.writeJson }
}

/** Writes the answer of an operation, when all of it is resolved. */
function serialize(answer: Answer, plan: ObjectPlan, level: Level): ExecutionOutcome {
  if (writeObject(answer, plan, level, 0) !== 'written') {
    answer.body.backTo(0)
    answer.body.null()
  }
  return { data: answer.body.finish(), errors: answer.errors }
}

/** Runs the fields of a mutation one after the other, until one fails that may not be null. */
async function runSerially(plan: ObjectPlan, run: Run): Promise<ExecutionOutcome> {
  const texts: string[] = []
  const errors: GraphQLError[] = []
  for (const field of plan.fields) {
    const single = { ...plan, fields: [field] }
    const outcome = serialize(new Answer(), single, await resolveLevel(single, [undefined], run, () => undefined))
    const text = outcome.data.toString()
    errors.push(...outcome.errors)
    if (text === 'null') return { data: outcome.data, errors }
    texts.push(text.slice(1, -1))
  }
  return { data: Buffer.from(`{${texts.join()}}`), errors }
}
