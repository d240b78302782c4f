/** Plans operations of GraphQL documents, and runs them breadth first. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  visit,
} from 'graphql'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import type { ObjectPlan } from './field-plan.ts'
import { planRoot, Unplannable } from './plan-fields.ts'
import { type Run, resolveLevel } from './resolve.ts'
import { Answer, type Level, writeObject } from './serialize.ts'
import { prepareVariables, type ReadVariables } from './variables.ts'

/** What running an operation gives. */
export interface ExecutionOutcome {
  /** The value of `data`, as JSON text in UTF-8. */
  data: Buffer
  /** The field errors, located, in the order of the document. */
  errors: readonly GraphQLError[]
}

/** What a transport decides about the plans of an operation. */
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

class OperationPlan implements Plan {
  fields = 0
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
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null)
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition
    }
    const { variableDefinitions = [] } = operation
    this.#shared = { schema, fragments, operation, rootValue: undefined }
    this.#rootType = rootType
    this.#options = options
    this.#readVariables = prepareVariables(schema, variableDefinitions)
    const used = new Set<string>()
    visit(document, { Directive: node => void visit(node, { Variable: ({ name }) => void used.add(name.value) }) })
    this.#conditions = variableDefinitions.map(({ variable }) => variable.name.value).filter(name => used.has(name))
    // Without conditions there is one plan, and it shows at once whether there is any.
    if (this.#conditions.length === 0) this.#plan([])
  }

  planAll(): void {
    for (let choice = 0; choice < 2 ** this.#conditions.length; choice++) {
      this.#plan(this.#conditions.map((_, index) => (choice & (1 << index)) !== 0))
    }
  }

  run(context: unknown, inputs: Readonly<Record<string, unknown>>) {
    const variables = this.#readVariables(inputs)
    const plan = variables && this.#variantFor(this.#conditions.map(name => variables[name]))
    if (!plan) return null
    const run: Run = { context, variables, shared: this.#shared }
    const isMutation = this.#shared.operation.operation === OperationTypeNode.MUTATION
    return isMutation && plan.fields.length > 1 ? runSerially(plan, run) : runOnce(plan, run)
  }

  /** @param values of the variables in conditions */
  #variantFor(values: readonly unknown[]): ObjectPlan | null {
    const known = this.#variants.get(values.join())
    if (known !== undefined) return known
    const isFull = this.#variants.size >= (this.#options.maxVariants ?? Number.POSITIVE_INFINITY)
    if (isFull || !values.every(value => typeof value === 'boolean')) return null
    try {
      return this.#plan(values)
    } catch (error) {
      if (!(error instanceof Unplannable)) throw error
      this.#variants.set(values.join(), null)
      return null
    }
  }

  #plan(values: readonly boolean[]): ObjectPlan {
    const conditions: Record<string, boolean> = Object.create(null)
    for (const [index, name] of this.#conditions.entries()) conditions[name] = values[index]!
    const { omitNull = new Set(), maxFields = Number.POSITIVE_INFINITY } = this.#options
    const count = () => {
      if (++this.fields > maxFields) throw new Unplannable(`it has more than ${maxFields} fields`)
    }
    const plan = planRoot(this.#rootType, { shared: this.#shared, conditions, omitNull, count })
    this.#variants.set(values.join(), plan)
    return plan
  }
}

function runOnce(plan: ObjectPlan, run: Run): ExecutionOutcome | Promise<ExecutionOutcome> {
  const level = resolveLevel(plan, [undefined], run, () => undefined)
  return mapMaybePromise(level, resolved => serialize(plan, resolved))
}

/** Writes the answer of an operation, when all of it is resolved. */
function serialize(plan: ObjectPlan, level: Level): ExecutionOutcome {
  const answer = new Answer()
  const { body, errors } = answer
  if (writeObject(answer, plan, level, 0) === 'failed') {
    body.backTo(0)
    body.null()
  }
  return { data: body.finish(), errors }
}

/** Runs the fields of a mutation one after the other, until one fails that may not be null. */
async function runSerially(plan: ObjectPlan, run: Run): Promise<ExecutionOutcome> {
  const members: string[] = []
  const errors: GraphQLError[] = []
  for (const field of plan.fields) {
    const outcome = await runOnce({ ...plan, fields: [field] }, run)
    errors.push(...outcome.errors)
    const text = outcome.data.toString()
    if (text === 'null') return { data: outcome.data, errors }
    members.push(text.slice(1, -1))
  }
  return { data: Buffer.from(`{${members.join()}}`), errors }
}
