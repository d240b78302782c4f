/**
 * Reads variables and arguments by the rules of graphql-js. The work that is the same for all requests is done once.
 */
import {
  coerceInputValue,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  getArgumentValues,
  isInputType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
  visit,
} from 'graphql'

/** Returns the fragments of a document by name. */
export function fragmentsOf(document: DocumentNode): Record<string, FragmentDefinitionNode> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null)
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition
  }
  return fragments
}

/** Returns the names of the variables in the directives of a document. Their values decide which fields run. */
export function conditionVariables(
  document: DocumentNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
): readonly string[] {
  const used = new Set<string>()
  visit(document, { Directive: node => void visit(node, { Variable: ({ name }) => void used.add(name.value) }) })
  return variableDefinitions.map(({ variable }) => variable.name.value).filter(name => used.has(name))
}

/** Coerces the variables of a request. Returns null when a variable is faulty: then graphql-js makes the error. */
export type ReadVariables = (inputs: object) => Record<string, unknown> | null

const firstError = new Error('A variable is faulty.')

/**
 * Stops at the first error, because graphql-js searches for suggestions at each error, which takes long for a value
 * with thousands of unknown keys.
 */
function stopAtFirst(): never {
  throw firstError
}

/**
 * Prepares a faster form of graphql-js' `getVariableValues`, which spends most of its time on looking up types.
 *
 * @throws when the type of a variable is not an input type
 */
export function prepareVariables(schema: GraphQLSchema, definitions: readonly VariableDefinitionNode[]): ReadVariables {
  const variables = definitions.map(({ variable, type: node, defaultValue }) => {
    const type = typeFromAST(schema, node)
    if (!isInputType(type)) throw new Error(`$${variable.name.value} is of no input type.`)
    return { name: variable.name.value, type, defaultValue: defaultValue && valueFromAST(defaultValue, type) }
  })
  return inputs => {
    // Without a prototype, because a variable may be named `__proto__`.
    const read: Record<string, unknown> = Object.create(null)
    for (const { name, type, defaultValue } of variables) {
      if (!Object.hasOwn(inputs, name)) {
        if (defaultValue !== undefined) read[name] = defaultValue
        else if (isNonNullType(type)) return null
        continue
      }
      const value: unknown = Reflect.get(inputs, name)
      if (value === null && isNonNullType(type)) return null
      try {
        read[name] = coerceInputValue(value, type, stopAtFirst)
      } catch (error) {
        if (error === firstError) return null
        throw error
      }
    }
    return read
  }
}

/**
 * Prepares graphql-js' `getArgumentValues`. Arguments that are all variables are only copied when each required
 * variable has a value, because validation has checked their types.
 *
 * @param definitions the variables of the operation
 * @returns a function that throws when a required argument has no value
 */
export function prepareArguments(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  definitions: readonly VariableDefinitionNode[],
): (variables: Record<string, unknown>) => Record<string, unknown> {
  const given = new Map<string, string>()
  for (const { name, value } of node.arguments ?? []) {
    if (value.kind === Kind.VARIABLE) given.set(name.value, value.name.value)
  }
  const isNonNull = (name: string | undefined) =>
    definitions.some(({ variable, type }) => variable.name.value === name && type.kind === Kind.NON_NULL_TYPE)
  const isPlain =
    given.size === (node.arguments?.length ?? 0) &&
    field.args.every(
      ({ name, type, defaultValue }) =>
        defaultValue === undefined && (!isNonNullType(type) || isNonNull(given.get(name))),
    )
  if (!isPlain) return variables => getArgumentValues(field, node, variables)
  return variables => {
    const read: Record<string, unknown> = {}
    for (const [argument, variable] of given) {
      if (Object.hasOwn(variables, variable)) read[argument] = variables[variable]
    }
    return read
  }
}
