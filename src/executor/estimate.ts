/** Estimates the size of an operation while it is planned, before it runs. */
import { BREAK, type FieldNode, type GraphQLField, type GraphQLObjectType, visit } from 'graphql'
import type { CallerLengths } from '../graphql/policy.ts'
import type { FieldPlan } from './field-plan.ts'

/** The size of a part of an operation. */
export interface Size {
  /** The number of fields. Each field counts as often as the lists around it have items. */
  complexity: number
  /** The maximum cost of the field in quota units (R28). */
  cost: number
}

/** The size of a part, or the index of the step that computes the size for a request. */
export type Estimate = Size | number

interface SizedRequest {
  variables: Record<string, unknown>
  lengths: CallerLengths
}

type SizeOf = (estimate: Estimate) => Size
type Step = (request: SizedRequest, sizeOf: SizeOf) => Size

/** The size of a selection without fields. */
export const emptySize: Size = { complexity: 0, cost: 0 }

/**
 * The size of a field with faulty arguments. The field fails before its policy counts its cost, and before its
 * selection is read.
 */
const failingFieldSize: Size = { complexity: 1, cost: 0 }

/**
 * The assumed lengths of the lists of introspection, by which the complexity of their items is multiplied. Below
 * `types`, the length is the mean over all types of the schema. `__type` compensates for types that are longer than the
 * mean.
 */
const introspectionMultipliers: Record<string, number> = {
  'Query.__type': 8,
  '__Schema.types': 80,
  '__Schema.directives': 5,
  '__Type.fields': 4,
  '__Type.ofType': 0.5,
  '__Field.args': 0.5,
}

/**
 * The estimates of one plan. Each part is computed once, even when it occurs in many other parts. So the time is linear
 * in the size of the plan, although fragments may occur in exponentially many places.
 */
export class Estimates {
  /** The steps in the order in which they run: each step comes after the steps whose results it uses. */
  readonly #steps: Step[] = []

  measure(part: Estimate, request: SizedRequest): Size {
    const sizes: Size[] = []
    const sizeOf: SizeOf = estimate => (typeof estimate === 'number' ? sizes[estimate]! : estimate)
    for (const step of this.#steps) sizes.push(step(request, sizeOf))
    return sizeOf(part)
  }

  /** Estimates a selection: the sum of its fields. */
  ofFields(fields: readonly Estimate[]): Estimate {
    return this.#combine(fields, (one, other) => ({
      complexity: one.complexity + other.complexity,
      cost: one.cost + other.cost,
    }))
  }

  /** Estimates a selection of an abstract type: the largest size among its possible types. */
  ofTypes(types: readonly Estimate[]): Estimate {
    return this.#combine(types, (one, other) => ({
      complexity: Math.max(one.complexity, other.complexity),
      cost: Math.max(one.cost, other.cost),
    }))
  }

  /** Estimates a field. @param inner the estimate of the selection below the field */
  ofField(
    parentType: GraphQLObjectType,
    field: GraphQLField<unknown, unknown>,
    node: FieldNode,
    readArguments: FieldPlan['readArguments'],
    inner: Estimate,
  ): Estimate {
    const undeclared = { field: 1, multiplier: introspectionMultipliers[`${parentType.name}.${field.name}`] ?? 1 }
    const { policy: { cost, lengthOf } = {}, complexity = undeclared } = field.extensions.pothosOptions ?? {}
    const readsArguments = typeof cost === 'function' || typeof complexity === 'function'
    const sizeOfField = (variables: SizedRequest['variables'], below: Size, maxItems?: number): Size => {
      try {
        const args = readsArguments ? readArguments(variables) : {}
        const { field: own, multiplier } = typeof complexity === 'function' ? complexity(args) : complexity
        const units = typeof cost === 'function' ? cost(args) : (cost ?? 0)
        return {
          complexity: own + multiplier * below.complexity,
          cost: units + (maxItems ?? multiplier) * below.cost,
        }
      } catch {
        return failingFieldSize
      }
    }
    const isFixed =
      typeof inner !== 'number' && !(lengthOf && inner.cost > 0) && !(readsArguments && usesVariables(node))
    if (isFixed) return sizeOfField({}, inner)
    return this.#add(({ variables, lengths }, sizeOf) =>
      sizeOfField(variables, sizeOf(inner), lengthOf && lengths[lengthOf]),
    )
  }

  #combine(parts: readonly Estimate[], add: (one: Size, other: Size) => Size): Estimate {
    const fixed = parts.filter(part => typeof part !== 'number').reduce(add, emptySize)
    const steps = parts.filter(part => typeof part === 'number')
    if (steps.length === 0) return fixed
    return this.#add((_request, sizeOf) => steps.map(sizeOf).reduce(add, fixed))
  }

  #add(step: Step): number {
    return this.#steps.push(step) - 1
  }
}

/** Returns whether the arguments of a field have variables. */
function usesVariables({ arguments: given = [] }: FieldNode): boolean {
  let found = false
  const visitor = {
    Variable() {
      found = true
      return BREAK
    },
  }
  for (const argument of given) visit(argument, visitor)
  return found
}
