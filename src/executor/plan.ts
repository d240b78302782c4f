/**
 * Plans operations of GraphQL documents, and runs them breadth first. With this executor, a page of vouchers takes 0.55
 * of the time that a service written by hand spends in Node (docs/performance.md, "Measures and results").
 */
import {
  type DocumentNode,
  execute,
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { type OperationWork, operationChannel } from '../channels.ts'
import type { CallerLengths } from '../graphql/policy.ts'
import type { Estimate, Estimates, Size } from './estimate.ts'
import type { ObjectPlan, ValuePlan } from './field-plan.ts'
import { FieldPlanner } from './plan-fields.ts'
import { type Run, resolveLevel, subscribeTo } from './resolve.ts'
import { Answer, type Level, writeObject } from './serialize.ts'
import { conditionVariables, fragmentsOf, prepareVariables, type ReadVariables } from './variables.ts'

interface ExecutionOutcome {
  /** The value of `data`, as JSON text in UTF-8. */
  data: Buffer
  /** The field errors with their locations, in the order of the document. */
  errors: readonly GraphQLError[]
}

/** The plan of a record's fields, and the parts of `info` that are the same for all fields. */
export interface RecordSelection {
  plan: ObjectPlan
  shared: Run['shared']
}

/** The maximum number of cached plans of one document. Each combination of `@skip` and `@include` has its own plan. */
const maxVariants = 8

/** The plan for one combination of `@skip` and `@include`. */
interface Variant {
  /**
   * Null when graphql-js has to run the operation, because a field returns an interface or a mutation has several
   * fields.
   */
  root: ObjectPlan | null
  estimate: Estimate
  estimates: Estimates
}

/** A plan of one operation. The document need not be valid until the operation runs. */
export class OperationPlan {
  readonly #shared: Run['shared']
  readonly #rootType: GraphQLObjectType
  readonly #readVariables: ReadVariables
  /** The names of the variables in `@skip` and `@include`. */
  readonly #conditions: readonly string[]
  /** The plans, by the values of these variables. */
  readonly #variants = new Map<string, Variant>()
  #fields = 0

  /**
   * @param omitNull fields whose key is left out of the answer when their value is null
   * @throws when the schema has no such operation, or the type of a variable is not an input type
   */
  constructor(
    schema: GraphQLSchema,
    private readonly document: DocumentNode,
    readonly operation: OperationDefinitionNode,
    private readonly omitNull: ReadonlySet<FieldNode> = new Set(),
  ) {
    const rootType = schema.getRootType(operation.operation)
    if (!rootType) throw new Error(`The schema has no ${operation.operation}.`)
    this.#shared = { schema, fragments: fragmentsOf(document), operation, rootValue: undefined }
    this.#rootType = rootType
    this.#readVariables = prepareVariables(schema, operation.variableDefinitions ?? [])
    this.#conditions = conditionVariables(document, operation)
  }

  /** The number of fields in all cached plans. */
  get fields(): number {
    return this.#fields
  }

  /**
   * Plans the fields for all combinations of the conditions.
   *
   * @throws when graphql-js would have to run one of the plans
   */
  planAll(): this {
    for (let choice = 0; choice < 2 ** this.#conditions.length; choice++) {
      const { root } = this.#variantFor(this.#conditions.map((_, index) => (choice & (1 << index)) !== 0))
      if (!root) throw new Error('The executor cannot run a field that returns an interface.')
    }
    return this
  }

  /**
   * Prepares a request.
   *
   * @param inputs the variables, as the caller sent them
   * @returns null when the variables are faulty
   * @throws when the operation is not valid or too large
   */
  bind(inputs: Readonly<Record<string, unknown>>): BoundOperation | null {
    const variables = this.#readVariables(inputs)
    if (!variables) return null
    const variant = this.#variantFor(this.#conditions.map(name => variables[name]))
    return new BoundOperation(variant, variables, this.#shared, this.document, inputs)
  }

  /**
   * Returns the selection of the records of its list, without the fields whose inclusion depends on a variable.
   *
   * @param key the key of the list in the answer; each object above the list has the field that leads to it, and at
   *   most one other field
   * @throws when there is no such list
   */
  recordsOf(key: string): RecordSelection {
    let object = this.#variantFor(this.#conditions.map(() => false)).root
    while (object) {
      const { fields }: ObjectPlan = object
      const value: ValuePlan | undefined = (fields.find(field => field.key === key) ?? fields[0])?.value
      if (value?.kind === 'list' && value.item.kind === 'object') return { plan: value.item, shared: this.#shared }
      object = value?.kind === 'object' ? value : null
    }
    throw new Error(`The operation has no list ${key}.`)
  }

  #variantFor(values: readonly unknown[]): Variant {
    const key = values.join()
    const known = this.#variants.get(key)
    if (known) return known
    const conditions: Record<string, unknown> = Object.create(null)
    for (const [index, name] of this.#conditions.entries()) conditions[name] = values[index]
    const planner = new FieldPlanner({ shared: this.#shared, conditions, omitNull: this.omitNull })
    const { plan, estimate } = planner.planRoot(this.#rootType)
    // This executor runs all fields of a level together, but the fields of a mutation must run in sequence.
    const isSerial = this.operation.operation === OperationTypeNode.MUTATION && plan !== null && plan.fields.length > 1
    const variant = { root: isSerial ? null : plan, estimate, estimates: planner.estimates }
    if (this.#variants.size < maxVariants) {
      this.#variants.set(key, variant)
      this.#fields += planner.fields
    }
    return variant
  }
}

/** An operation together with the variables of one request. */
export class BoundOperation {
  constructor(
    private readonly variant: Variant,
    private readonly variables: Record<string, unknown>,
    private readonly shared: Run['shared'],
    private readonly document: DocumentNode,
    private readonly inputs: Readonly<Record<string, unknown>>,
  ) {}

  /** True when the executor runs the operation; otherwise graphql-js runs it. */
  get isPlanned(): boolean {
    return this.variant.root !== null
  }

  measure(lengths: CallerLengths): Size {
    const { estimate, estimates } = this.variant
    return estimates.measure(estimate, { variables: this.variables, lengths })
  }

  /**
   * Begins a subscription. The document is valid.
   *
   * @returns the events. Each event is the root value of one `run`
   * @throws GraphQLError
   */
  async subscribe(context: unknown): Promise<AsyncIterator<unknown>> {
    const [field] = this.variant.root?.fields ?? []
    if (!field) throw new GraphQLError('The subscription selects no field.')
    return subscribeTo(field, { context, variables: this.variables, shared: this.shared })
  }

  /**
   * Runs the operation. The document is valid.
   *
   * @param context the context value of the resolvers
   * @param rootValue an event of a subscription; undefined for other operations
   * @returns the outcome, without a promise when no resolver returns a promise
   */
  run(context: unknown, rootValue?: unknown): ExecutionOutcome | Promise<ExecutionOutcome> {
    if (!operationChannel.hasSubscribers) return this.#execute(context, rootValue)
    const { operation: type, name } = this.shared.operation
    const work: OperationWork = { type, name: name?.value }
    return operationChannel.tracePromise(async () => this.#execute(context, rootValue), work)
  }

  #execute(context: unknown, rootValue: unknown): ExecutionOutcome | Promise<ExecutionOutcome> {
    const { root } = this.variant
    const { schema, operation } = this.shared
    if (!root) {
      const args = { schema, document: this.document, rootValue, contextValue: context, variableValues: this.inputs }
      const result = execute({ ...args, operationName: operation.name?.value ?? null })
      return mapMaybePromise(result, ({ data = null, errors = [] }) => ({
        data: Buffer.from(JSON.stringify(data)),
        errors,
      }))
    }
    const run: Run = { context, variables: this.variables, shared: this.shared }
    const level = resolveLevel(root, [rootValue], run, () => undefined)
    return mapMaybePromise(level, resolved => serialize(root, resolved))
  }
}

function serialize(root: ObjectPlan, level: Level): ExecutionOutcome {
  const answer = new Answer()
  const { body, errors } = answer
  if (writeObject(answer, root, level, 0, 0) === 'failed') {
    body.backTo(0)
    body.null()
  }
  return { data: body.finish(), errors }
}
