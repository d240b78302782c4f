import {
  coerceInputValue,
  isInputType,
  isNonNullType,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
} from 'graphql'
import { schema } from './schema.ts'

/** Understands the variables of a request; null: something is wrong with them. */
export type ReadVariables = (inputs: object) => Record<string, unknown> | null

/**
 * The same as graphql-js' `getVariableValues` for a document that comes again and again: what the types are, which
 * takes most of the time there, is found out once. What is wrong is for graphql-js to say.
 */
export function prepareVariables(definitions: readonly VariableDefinitionNode[]): ReadVariables {
  const variables = definitions.map(({ variable, type: node, defaultValue }) => {
    const type = typeFromAST(schema, node)
    if (!isInputType(type)) throw new Error(`$${variable.name.value} is of no type for input.`)
    return { name: variable.name.value, type, defaultValue: defaultValue && valueFromAST(defaultValue, type) }
  })
  return inputs => {
    const read: Record<string, unknown> = {}
    let wrong = false
    for (const { name, type, defaultValue } of variables) {
      if (!Object.hasOwn(inputs, name)) {
        if (defaultValue !== undefined) read[name] = defaultValue
        else if (isNonNullType(type)) return null
        continue
      }
      const value: unknown = Reflect.get(inputs, name)
      if (value === null && isNonNullType(type)) return null
      read[name] = coerceInputValue(value, type, () => {
        wrong = true
      })
    }
    return wrong ? null : read
  }
}
