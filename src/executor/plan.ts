/** Plans operations of GraphQL documents, and runs them breadth first. */
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import type { ObjectPlan, ValuePlan } from './field-plan.ts'
import { planRoot, Unplannable } from './plan-fields.ts'
import { type Run, resolveLevel } from './resolve.ts'
import { Answer, type Level, writeObject } from './serialize.ts'
import { conditionVariables, fragmentsOf, prepareVariables, type ReadVariables } from './variables.ts'

/** The result of running an operation. */
export interface ExecutionOutcome {
  /** The value of `data`, as JSON text in UTF-8. */
  data: Buffer
  /** The field errors, located, in the order of the document. */
  errors: readonly GraphQLError[]
}

/** The choices of a transport for the plans of an operation. */
interface PlanOptions {
  /** Fields whose key is left out of the answer when their value is null. */
  omitNull?: ReadonlySet<FieldNode>
  /** The most fields that all plans of the operation have together, each counted where it stands in the answer. */
  maxFields?: number
  /** The most combinations of values of the variables in `@skip` and `@include` that are planned. */
  maxVariants?: number
  /** Plans all combinations at once, and throws when one cannot be planned. */
  required?: boolean
}

/** The selection of a record, and the parts of `info` that are the same for all fields. */
export interface RecordSelection {
  plan: ObjectPlan
  shared: Run['shared']
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
): OperationPlan | null {
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

/** An operation that this executor can run. */
export class OperationPlan {
  #fields = 0
  readonly #shared: Run['shared']
  readonly #rootType: GraphQLObjectType
  readonly #readVariables: ReadVariables
  readonly #options: PlanOptions
  /** The names of the variables in directives: in `@skip` and `@include`. */
  readonly #conditions: readonly string[]
  /** By the values of these variables. Null: cannot be planned. */
  readonly #variants = new Map<string, ObjectPlan | null>()

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, options: PlanOptions) {
    const rootType = schema.getRootType(operation.operation)
    if (!rootType || operation.operation === OperationTypeNode.SUBSCRIPTION) {
      throw new Unplannable(`it is a ${operation.operation}`)
    }
    const { variableDefinitions = [] } = operation
    this.#shared = { schema, fragments: fragmentsOf(document), operation, rootValue: undefined }
    this.#rootType = rootType
    this.#options = options
    this.#readVariables = prepareVariables(schema, variableDefinitions)
    this.#conditions = conditionVariables(document, operation)
    // Without conditions there is one plan, and it shows at once whether there is any.
    if (this.#conditions.length === 0) this.#planVariant([])
  }

  /** The number of fields that are planned until now, in all combinations. */
  get fields(): number {
    return this.#fields
  }

  /** Plans all combinations. */
  planAll(): void {
    for (let choice = 0; choice < 2 ** this.#conditions.length; choice++) {
      this.#planVariant(this.#conditions.map((_, index) => (choice & (1 << index)) !== 0))
    }
  }

  /**
   * Runs the operation, with an undefined root value.
   *
   * @param context the context value of the resolvers
   * @param inputs the variables, as the caller sent them
   * @returns the outcome, at once when no resolver returns a promise; null when graphql-js has to run the operation,
   *   because the variables are faulty or a limit of the options is exceeded. No resolver has been called then.
   */
  run(context: unknown, inputs: Readonly<Record<string, unknown>>) {
    const variables = this.#readVariables(inputs)
    const root = variables && this.#variantFor(this.#conditions.map(name => variables[name]))
    if (!root) return null
    const run: Run = { context, variables, shared: this.#shared }
    const isMutation = this.#shared.operation.operation === OperationTypeNode.MUTATION
    return isMutation && root.fields.length > 1 ? runSerially(root, run) : runOnce(root, run)
  }

  /**
   * Returns what the operation selects of the records of its list, without the fields that a variable has to include.
   *
   * @param key the key of the list in the answer; the objects above it have this or one other field
   * @throws when there is no such list
   */
  recordsOf(key: string): RecordSelection {
    let object = this.#variantFor(this.#conditions.map(() => false))
    while (object) {
      const { fields }: ObjectPlan = object
      const value: ValuePlan | undefined = (fields.find(field => field.key === key) ?? fields[0])?.value
      if (value?.kind === 'list' && value.item.kind === 'object') return { plan: value.item, shared: this.#shared }
      object = value?.kind === 'object' ? value : null
    }
    throw new Error(`The operation has no list ${key}.`)
  }

  /** Returns the plan for the values of the variables in conditions; null: graphql-js has to run the operation. */
  #variantFor(values: readonly unknown[]): ObjectPlan | null {
    const planned = this.#variants.get(values.join())
    if (planned !== undefined) return planned
    const isFull = this.#variants.size >= (this.#options.maxVariants ?? Number.POSITIVE_INFINITY)
    if (isFull || !values.every(value => typeof value === 'boolean')) return null
    try {
      return this.#planVariant(values)
    } catch (error) {
      if (!(error instanceof Unplannable)) throw error
      this.#variants.set(values.join(), null)
      return null
    }
  }

  #planVariant(values: readonly boolean[]): ObjectPlan {
    const conditions: Record<string, boolean> = Object.create(null)
    for (const [index, name] of this.#conditions.entries()) conditions[name] = values[index]!
    const { omitNull = new Set(), maxFields = Number.POSITIVE_INFINITY } = this.#options
    const count = () => {
      if (++this.#fields > maxFields) throw new Unplannable(`it has more than ${maxFields} fields`)
    }
    const root = planRoot(this.#rootType, { shared: this.#shared, conditions, omitNull, count })
    this.#variants.set(values.join(), root)
    return root
  }
}

function runOnce(root: ObjectPlan, run: Run): ExecutionOutcome | Promise<ExecutionOutcome> {
  const level = resolveLevel(root, [undefined], run, () => undefined)
  return mapMaybePromise(level, resolved => serialize(root, resolved))
}

/** Writes the answer of an operation, when all of it is resolved. */
function serialize(root: ObjectPlan, level: Level): ExecutionOutcome {
  const answer = new Answer()
  const { body, errors } = answer
  if (writeObject(answer, root, level, 0) === 'failed') {
    body.backTo(0)
    body.null()
  }
  return { data: body.finish(), errors }
}

/** Runs the fields of a mutation one after the other, until one fails that may not be null. */
async function runSerially(root: ObjectPlan, run: Run): Promise<ExecutionOutcome> {
  const members: string[] = []
  const errors: GraphQLError[] = []
  for (const field of root.fields) {
    const outcome = await runOnce({ ...root, fields: [field] }, run)
    errors.push(...outcome.errors)
    const text = outcome.data.toString()
    if (text === 'null') return { data: outcome.data, errors }
    members.push(text.slice(1, -1))
  }
  return { data: Buffer.from(`{${members.join()}}`), errors }
}
