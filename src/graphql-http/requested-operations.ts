/** Works out how many quota units a document performs at most (R28), before it runs. */
import {
  BREAK,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'
import type { Token } from '../domain/token/token.ts'
import {
  conditionVariables,
  fragmentsOf,
  prepareArguments,
  prepareVariables,
  type ReadVariables,
} from '../executor/variables.ts'
import { oneOperation } from '../graphql/policy.ts'

type Variables = Record<string, unknown>

/** A number of operations, or a function that counts them from variables or from the token. */
type Estimate = number | ((variables: Variables, token: Token) => number)

/** The most combinations of values of the variables in `@skip` and `@include` whose estimates are kept. */
const mostVariants = 8

/** The estimates of an operation of a valid document, made once. */
export class RequestedOperations {
  readonly #schema: GraphQLSchema
  readonly #operation: OperationDefinitionNode
  readonly #fragments: ReturnType<typeof fragmentsOf>
  readonly #conditions: readonly string[]
  readonly #readVariables: ReadVariables
  readonly #variants = new Map<string, Estimate>()
  #fields = 0

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) {
    this.#schema = schema
    this.#operation = operation
    this.#fragments = fragmentsOf(document)
    this.#conditions = conditionVariables(document, operation)
    this.#readVariables = prepareVariables(schema, operation.variableDefinitions ?? [])
    if (this.#conditions.length === 0) this.#variants.set('', this.#estimate({}))
  }

  /** The number of kept fields whose operations depend on variables or on the token. */
  get fields(): number {
    return this.#fields
  }

  /**
   * @param inputs the variables, as the caller sent them
   * @param token whose tenants the operation may read
   * @returns how many operations a request performs at most; at least 1, as each request counts
   */
  count(inputs: Readonly<Variables>, token: Token): number {
    const fixed = this.#conditions.length === 0 ? this.#variants.get('') : undefined
    if (typeof fixed === 'number') return Math.max(1, fixed)
    const variables = this.#readVariables(inputs)
    // Faulty variables: nothing runs.
    if (!variables) return 1
    const estimate = fixed ?? this.#variantFor(variables)
    return Math.max(1, numberOf(estimate, variables, token))
  }

  #variantFor(variables: Variables): Estimate {
    const key = this.#conditions.map(name => variables[name]).join()
    const known = this.#variants.get(key)
    if (known !== undefined) return known
    const estimate = this.#estimate(variables)
    if (this.#variants.size < mostVariants) this.#variants.set(key, estimate)
    return estimate
  }

  #estimate(conditions: Variables): Estimate {
    const type = this.#schema.getRootType(this.#operation.operation)
    if (!type) return 0
    const { selectionSet } = this.#operation
    const estimator = new Estimator(this.#schema, this.#fragments, this.#operation, conditions)
    const estimate = estimator.ofFields(
      type,
      collectFields(this.#schema, this.#fragments, conditions, type, selectionSet),
    )
    this.#fields += estimator.fields
    return estimate
  }
}

/** Estimates the fields of an operation, for one choice of those that `@skip` and `@include` leave. */
class Estimator {
  fields = 0
  readonly #schema: GraphQLSchema
  readonly #fragments: ReturnType<typeof fragmentsOf>
  readonly #operation: OperationDefinitionNode
  readonly #conditions: Variables
  /** The estimates of selections that are not merged with others: a fragment is estimated once. */
  readonly #known = new Map<SelectionSetNode, Map<GraphQLNamedType, Estimate>>()

  constructor(
    schema: GraphQLSchema,
    fragments: ReturnType<typeof fragmentsOf>,
    operation: OperationDefinitionNode,
    conditions: Variables,
  ) {
    this.#schema = schema
    this.#fragments = fragments
    this.#operation = operation
    this.#conditions = conditions
  }

  /** Estimates the fields of an object, by response key. */
  ofFields(type: GraphQLObjectType, fields: ReadonlyMap<string, readonly FieldNode[]>): Estimate {
    return combine(
      [...fields.values()].map(nodes => this.#ofField(type, nodes)),
      sum,
    )
  }

  #ofField(type: GraphQLObjectType, nodes: readonly FieldNode[]): Estimate {
    const [node] = nodes
    const field = node && type.getFields()[node.name.value]
    if (!node || !field) return 0
    const { policy } = field.extensions.pothosOptions ?? {}
    const inner = this.#ofSelections(getNamedType(field.type), nodes)
    const isOne = policy?.operations === oneOperation
    const hasFixedCount = isOne || !policy?.operations
    if (inner === 0 && hasFixedCount) return isOne ? 1 : 0
    const hasFixedItems = !policy?.items && typeof field.extensions.complexity !== 'function'
    if (typeof inner === 'number' && hasFixedCount && hasFixedItems) return (isOne ? 1 : 0) + itemsOf(field, {}) * inner
    const readArguments = prepareArguments(field, node, this.#operation.variableDefinitions ?? [])
    const countOf = (variables: Variables): FieldCount => {
      try {
        const args = readArguments(variables)
        return { operations: policy?.operations?.(args) ?? 0, items: inner === 0 ? 0 : itemsOf(field, args) }
      } catch {
        // A field whose arguments are faulty fails before its policy counts it.
        return { operations: 0, items: 0 }
      }
    }
    if (typeof inner === 'number' && !policy?.items && !hasVariables(node)) {
      const { operations, items } = countOf({})
      return operations + items * inner
    }
    this.fields++
    return (variables, token) => {
      const { operations, items } = countOf(variables)
      return operations + (policy?.items?.(token) ?? items) * numberOf(inner, variables, token)
    }
  }

  #ofSelections(type: GraphQLNamedType, nodes: readonly FieldNode[]): Estimate {
    const selections = nodes.length === 1 ? nodes[0]?.selectionSet : undefined
    if (!selections) return this.#ofType(type, nodes)
    const known = this.#known.get(selections) ?? new Map<GraphQLNamedType, Estimate>()
    const estimate = known.get(type) ?? this.#ofType(type, nodes)
    this.#known.set(selections, known.set(type, estimate))
    return estimate
  }

  #ofType(type: GraphQLNamedType, nodes: readonly FieldNode[]): Estimate {
    if (isAbstractType(type)) {
      const types = this.#schema.getPossibleTypes(type)
      return combine(
        types.map(each => this.#ofType(each, nodes)),
        largest,
      )
    }
    if (!isObjectType(type)) return 0
    return this.ofFields(type, collectSubfields(this.#schema, this.#fragments, this.#conditions, type, nodes))
  }
}

/** The number of operations that a field performs itself, and the most objects that it returns. */
interface FieldCount {
  operations: number
  items: number
}

const numberOf = (estimate: Estimate, variables: Variables, token: Token): number =>
  typeof estimate === 'number' ? estimate : estimate(variables, token)

/** Combines estimates by a function of their numbers. */
function combine(estimates: readonly Estimate[], of: (numbers: readonly number[]) => number): Estimate {
  const numbers = estimates.filter(estimate => typeof estimate === 'number')
  if (numbers.length === estimates.length) return of(numbers)
  return (variables, token) => of(estimates.map(estimate => numberOf(estimate, variables, token)))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
const largest = (numbers: readonly number[]): number => Math.max(0, ...numbers)

/** Returns how many objects a field returns at most: what its complexity multiplies the fields of each by. */
function itemsOf(field: GraphQLField<unknown, unknown>, args: Record<string, unknown>): number {
  const { complexity } = field.extensions
  const read: unknown = typeof complexity === 'function' ? complexity(args, undefined, field) : complexity
  const multiplier = typeof read === 'object' && read !== null && 'multiplier' in read ? Number(read.multiplier) : 1
  return Math.max(0, multiplier)
}

/** Returns whether the arguments of a field use variables. */
function hasVariables({ arguments: given = [] }: FieldNode): boolean {
  let found = false
  for (const argument of given) {
    visit(argument, {
      Variable() {
        found = true
        return BREAK
      },
    })
  }
  return found
}
