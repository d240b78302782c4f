import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth'
import {
  GraphQLError,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  type OperationDefinitionNode,
  typeFromAST,
  type ValidationRule,
} from 'graphql'
import type { Size } from '../executor/estimate.ts'
import { schema } from '../graphql/schema.ts'
import { isJsonObject } from './trusted-documents.ts'

/** The limits of a caller's document, of its variables, and of the errors in the answer. */
export const limits = {
  depth: 10,
  aliases: 30,
  /** The maximum length of an alias, in characters. The `path` of each error repeats the alias. */
  aliasLength: 100,
  tokens: 2000,
  /** The maximum nesting of brackets of any kind. A valid document of the allowed depth needs less. */
  brackets: 100,
  /**
   * The maximum length, in characters, of a document whose errors have locations. For each location, graphql-js reads
   * the text from its beginning, and a document may cause thousands of errors.
   */
  located: { characters: 8_000, lines: 200 },
  complexity: 25_000,
  /**
   * The maximum number of items of a list in an argument. A list of enum values may have at most as many items as the
   * enum has values.
   */
  listItems: 100,
  /** The maximum number of errors that graphql-js reports before it stops. */
  errors: 10,
}

function maxItemsOf(type: GraphQLInputType): number {
  const item = getNamedType(type)
  return isEnumType(item) ? Math.min(limits.listItems, item.getValues().length) : limits.listItems
}

const tooLongError = (what: string, length: number, most: number) =>
  `${what} has ${length} items; at most ${most} are allowed.`

/** Returns the message for the first list in the variables that is longer than its argument allows, or null. */
export function findLongList(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Record<string, unknown>,
): string | null {
  for (const { variable, type: node } of variableDefinitions) {
    const { value: name } = variable.name
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined
    // Most variables are scalars, which have no fields.
    const type = typeof value === 'object' && value !== null && typeFromAST(schema, node)
    const found = type && isInputType(type) ? findLongListIn(type, value, `The variable $${name}`) : null
    if (found !== null) return found
  }
  return null
}

/** Finds a list that is too long, in a value or in its fields. @param what the name of the value in the message */
function findLongListIn(type: GraphQLInputType, value: unknown, what: string): string | null {
  const nullable = getNullableType(type)
  if (isListType(nullable)) {
    const most = maxItemsOf(nullable)
    return Array.isArray(value) && value.length > most ? tooLongError(what, value.length, most) : null
  }
  if (!isInputObjectType(nullable) || !isJsonObject(value)) return null
  for (const [name, field] of Object.entries(nullable.getFields())) {
    const found = Object.hasOwn(value, name) ? findLongListIn(field.type, value[name], `${what}.${name}`) : null
    if (found !== null) return found
  }
  return null
}

/**
 * Returns the message for an operation that is too complex, or null.
 *
 * @param size the size of the operation; null when the size is unknown
 */
export function findExcess(size: Size | null): string | null {
  if (size === null || size.complexity <= limits.complexity) return null
  return `The complexity of the query is ${Math.ceil(size.complexity)}; at most ${limits.complexity} is allowed. Ask for fewer records or fields.`
}

const aliasLengthRule: ValidationRule = context => ({
  Field({ alias }) {
    if (!alias || alias.value.length <= limits.aliasLength) return
    const message = `An alias has at most ${limits.aliasLength} characters.`
    context.reportError(new GraphQLError(message, { nodes: alias }))
  },
})

const listLengthRule: ValidationRule = context => ({
  ListValue(list) {
    const type = context.getInputType()
    const most = type ? maxItemsOf(type) : limits.listItems
    if (list.values.length <= most) return
    context.reportError(new GraphQLError(tooLongError('The list', list.values.length, most), { nodes: list }))
  },
})

/** The rules of validation for the limits that do not depend on variables. */
export const limitRules: ValidationRule[] = [
  aliasLengthRule,
  listLengthRule,
  maxDepthRule({ n: limits.depth }),
  maxAliasesRule({ n: limits.aliases }),
]
