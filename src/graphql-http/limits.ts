import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth'
import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  type DocumentNode,
  type execute,
  GraphQLError,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  typeFromAST,
  type ValidationRule,
  validate,
} from 'graphql'
import type { GraphQLParams, Plugin, YogaInitialContext } from 'graphql-yoga'
import { schema } from '../graphql/schema.ts'

/** The limits of a caller's document, of its variables, and of the errors that answer them. */
export const limits = {
  depth: 10,
  aliases: 30,
  /** The most characters of one alias. An error's `path` repeats it. */
  aliasLength: 100,
  tokens: 2000,
  /**
   * The longest documents whose errors have locations. graphql-js reads the text from its beginning for each error, and
   * a document may cause thousands of them.
   */
  located: { characters: 8_000, lines: 200 },
  cost: 25_000,
  /** The most items of a list in an argument. A list of an enum has at most as many items as the enum has values. */
  listItems: 100,
  /** The most errors that graphql-js reports before it stops. */
  errors: 10,
}

/** The options of graphql-js for the variables of callers: few errors, and no suggestions, which it looks up for each. */
export const errorOptions = { hideSuggestions: true, options: { maxCoercionErrors: limits.errors } }

/** The types of variables that cannot change what an operation costs. */
const textTypes = new Set(['ID', 'String', 'DateTime'])

/** The costs of operations that no variable can change. */
const fixedCosts = new WeakMap<OperationDefinitionNode, number>()

/** Returns whether the variables are faulty, so that graphql-js does not execute the operation. */
const areFaulty = ({ variableDefinitions = [] }: OperationDefinitionNode, variables: Record<string, unknown>) =>
  getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 }).errors !== undefined

/**
 * Measures the operation that a request runs: the sum of its fields, each counted as often as the lists around it are
 * long. Fragments are measured once, so the time is linear in the document.
 *
 * @returns the cost; null when it cannot be measured, because the document is not valid or the variables are faulty
 */
function costOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): number | null {
  const fixed = fixedCosts.get(operation)
  if (fixed !== undefined) return fixed
  if (areFaulty(operation, variables)) return null
  // The library measures the first operation of a document.
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  const measured: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] }
  const cost = measureComplexity(measured, variables)
  if (cost === null) return null
  if ((operation.variableDefinitions ?? []).every(({ type }) => textTypes.has(print(type).replace('!', '')))) {
    fixedCosts.set(operation, cost)
  }
  return cost
}

/** Returns the cost of the first operation; null when the document is not valid. */
function measureComplexity(document: DocumentNode, variables: Record<string, unknown>): number | null {
  try {
    const { complexity } = complexityFromQuery(document, { schema, variables })
    return Number.isFinite(complexity) ? complexity : null
  } catch {
    return null
  }
}

/** Returns the most items that a list of this type may have. */
function maxItemsOf(type: GraphQLInputType): number {
  const item = getNamedType(type)
  return isEnumType(item) ? Math.min(limits.listItems, item.getValues().length) : limits.listItems
}

const tooLong = (what: string, length: number, most: number) =>
  `${what} has ${length} items; at most ${most} are allowed.`

/** Returns the message for the first list in the variables that is longer than its argument allows, or null. */
function findLongList(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Record<string, unknown>,
): string | null {
  for (const { variable, type: node } of variableDefinitions) {
    const { value: name } = variable.name
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined
    // The type of most variables is a scalar, and need not be found.
    const type = typeof value === 'object' && value !== null && typeFromAST(schema, node)
    const found = type && isInputType(type) ? findLongListIn(type, value, `The variable $${name}`) : null
    if (found !== null) return found
  }
  return null
}

/** Looks in a value, and in the fields of an input object. @param what names the value in the message */
function findLongListIn(type: GraphQLInputType, value: unknown, what: string): string | null {
  const nullable = getNullableType(type)
  if (isListType(nullable)) {
    const most = maxItemsOf(nullable)
    return Array.isArray(value) && value.length > most ? tooLong(what, value.length, most) : null
  }
  if (!isInputObjectType(nullable) || !isObject(value)) return null
  for (const [name, field] of Object.entries(nullable.getFields())) {
    const found = Object.hasOwn(value, name) ? findLongListIn(field.type, value[name], `${what}.${name}`) : null
    if (found !== null) return found
  }
  return null
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** The message of `findExcess` for an operation that cannot be measured. */
export const unmeasured = 'The cost of the query cannot be measured.'

/**
 * Checks the operation that a request runs against the limits of lists and of cost.
 *
 * @returns the limit that it exceeds or may exceed, as a sentence; null when it is within all of them
 */
export function findExcess(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): string | null {
  const longList = findLongList(operation, variables)
  if (longList !== null) return longList
  const cost = costOf(document, operation, variables)
  if (cost === null) return unmeasured
  if (cost <= limits.cost) return null
  return `The query costs ${cost}; at most ${limits.cost} is allowed. Ask for fewer records or fields.`
}

/** Rejects aliases of introspection: with them, one small document selects the whole schema many times. */
const introspectionWithoutAliases: ValidationRule = context => ({
  Field(field) {
    const within = context.getParentType()?.name.startsWith('__')
    if (!field.alias || !(within || ['__schema', '__type'].includes(field.name.value))) return
    context.reportError(new GraphQLError('Introspection takes no aliases.', { nodes: field }))
  },
})

/** Rejects long aliases. */
const shortAliases: ValidationRule = context => ({
  Field({ alias }) {
    if (!alias || alias.value.length <= limits.aliasLength) return
    const message = `An alias has at most ${limits.aliasLength} characters.`
    context.reportError(new GraphQLError(message, { nodes: alias }))
  },
})

/** Rejects literal lists that are longer than their argument allows. */
const shortLists: ValidationRule = context => ({
  ListValue(list) {
    const type = context.getInputType()
    const most = type ? maxItemsOf(type) : limits.listItems
    if (list.values.length <= most) return
    context.reportError(new GraphQLError(tooLong('The list', list.values.length, most), { nodes: list }))
  },
})

/** The limits that a document alone can exceed: rules of validation. */
export const limitRules: ValidationRule[] = [
  introspectionWithoutAliases,
  shortAliases,
  shortLists,
  maxDepthRule({ n: limits.depth }),
  maxAliasesRule({ n: limits.aliases }),
]

/** Returns whether a document is longer than those whose errors have locations. */
const isLong = (text: string): boolean =>
  text.length > limits.located.characters ||
  text.split(/\r\n|[\n\r]/, limits.located.lines + 1).length > limits.located.lines

interface CheckedContext extends YogaInitialContext {
  params: GraphQLParams
}

/**
 * Creates the plugins that enforce the limits: of tokens when a document is parsed, of cost before it is validated.
 *
 * @param executeFn executes documents that are within the limits
 */
export const limitPlugins = (executeFn: typeof execute): Plugin<CheckedContext>[] => [
  {
    onParse({ setParseFn }) {
      setParseFn((source: string) => parse(source, { maxTokens: limits.tokens, noLocation: isLong(source) }))
    },
    onValidate({ params: { documentAST }, context, addValidationRule, setValidationFn }) {
      const { operationName, variables } = context.params
      const operation = getOperationAST(documentAST, operationName)
      const excess = operation && findExcess(documentAST, operation, variables ?? {})
      // An operation that cannot be measured is not valid or has faulty variables: validation and execution report it.
      if (excess && excess !== unmeasured) throw new GraphQLError(excess)
      for (const rule of limitRules) addValidationRule(rule)
      setValidationFn((schema, document, rules) =>
        // Names are suggested for ten errors at most; the schema is public.
        validate(schema, document, rules, { maxErrors: limits.errors }),
      )
    },
    onExecute({ args, setExecuteFn }) {
      const { document, operationName, variableValues } = args
      const operation = getOperationAST(document, operationName)
      const variables = variableValues ?? {}
      // graphql-js reports faulty variables.
      if (operation && !areFaulty(operation, variables)) {
        const excess = findExcess(document, operation, variables)
        if (excess) throw new GraphQLError(excess)
      }
      setExecuteFn(executeFn)
    },
  },
]
