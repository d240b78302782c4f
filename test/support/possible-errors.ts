/**
 * Finds the errors that an answer may have. A null that propagates to a position hides other errors below it, and the
 * order in which resolvers end decides which error is reported. So each null must have exactly one of its possible
 * errors.
 */
import {
  defaultFieldResolver,
  type ExecutionArgs,
  execute,
  type FieldNode,
  GraphQLError,
  GraphQLList,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  lexicographicSortSchema,
} from 'graphql'

type Path = readonly (string | number)[]

/** A field at a position of the answer, in the unchanged schema. */
interface Position {
  parentName: string
  fieldName: string
  type: GraphQLOutputType
  nodes: readonly FieldNode[]
}

const toArray = (path: GraphQLResolveInfo['path'] | undefined): (string | number)[] =>
  path ? [...toArray(path.prev), path.key] : []

const nameOf = (path: Path) => JSON.stringify(path)

const nullable = (type: GraphQLOutputType): GraphQLOutputType => {
  const inner = getNullableType(type)
  return isListType(inner) ? new GraphQLList(nullable(inner.ofType)) : inner
}

/** Creates the same schema with all types nullable, in which an error does not propagate and hides no other error. */
function nullableSchema(schema: GraphQLSchema, record: (path: Path, position: Position) => void): GraphQLSchema {
  // The function of graphql-js that copies all types, with their resolvers.
  const copy = lexicographicSortSchema(schema)
  for (const parent of Object.values(copy.getTypeMap())) {
    if (!(isObjectType(parent) || isInterfaceType(parent)) || parent.name.startsWith('__')) continue
    for (const field of Object.values(parent.getFields())) {
      const { name: fieldName, type, resolve = defaultFieldResolver } = field
      const described = { ...field }
      field.args = []
      field.type = nullable(type)
      field.resolve = (value, _args, context, info) => {
        const { fieldNodes: nodes } = info
        record(toArray(info.path), { parentName: parent.name, fieldName, type, nodes })
        // The field is recorded here, so that a field whose arguments fail is recorded too.
        return resolve(value, getArgumentValues(described, nodes[0]!, info.variableValues), context, info)
      }
    }
  }
  return copy
}

/** The visible parts of an error. */
export type ShownError = Pick<GraphQLError, 'message' | 'path' | 'locations'>

const shownError = ({ message, path, locations }: ShownError): string => JSON.stringify({ message, path, locations })

/** All errors that an operation can have. */
export class PossibleErrors {
  readonly #positions: Map<string, Position>
  /** Maps each possible error, in the form in which it is shown, to the position that becomes null. */
  readonly #nulled = new Map<string, Path>()

  constructor(positions: Map<string, Position>) {
    this.#positions = positions
  }

  add(error: GraphQLError): void {
    if (error.path) this.#nulled.set(shownError(error), this.#nulledBy(error.path))
  }

  /** Adds errors for nulls without an error, at positions where the schema allows no null. */
  addNulls(value: unknown, path: Path = []): void {
    const position = this.#positionAt(path)
    if (value === null && position && isNonNullType(typeAt(position.type, path))) {
      if ([...this.#nulled.keys()].some(shown => nameOf(JSON.parse(shown).path) === nameOf(path))) return
      const message = `Cannot return null for non-nullable field ${position.parentName}.${position.fieldName}.`
      this.add(new GraphQLError(message, { nodes: position.nodes, path }))
    }
    if (typeof value !== 'object' || value === null) return
    const isLeaf =
      position &&
      !('getFields' in innermost(position.type)) &&
      !isListType(getNullableType(typeAt(position.type, path)))
    if (isLeaf) return
    for (const [key, inner] of Object.entries(value))
      this.addNulls(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }

  /**
   * Checks the errors of an answer. @returns what is wrong with the errors; null when they explain all nulls of the
   * answer
   */
  check(data: unknown, errors: readonly ShownError[]): string | null {
    const reported = new Map<string, number>()
    for (const error of errors) {
      const shown = shownError(error)
      const nulled = this.#nulled.get(shown)
      if (!nulled) return `This error is not possible: ${shown}`
      const name = nameOf(nulled)
      reported.set(name, (reported.get(name) ?? 0) + 1)
    }
    for (const [shown, nulled] of this.#nulled) {
      const count = reported.get(nameOf(nulled)) ?? 0
      if (count > 1) return `The null at ${nameOf(nulled)} has ${count} errors.`
      const isSeen = valueAt(data, nulled.slice(0, -1)) !== null
      if (nulled.length > 0 && isSeen && valueAt(data, nulled) !== null) return `There is a value at ${nameOf(nulled)}.`
      if (count === 0 && (isSeen || nulled.length === 0))
        return `No error explains the null at ${nameOf(nulled)}, such as ${shown}`
    }
    return null
  }

  /** Returns the field of a value, which may be an item of a list. */
  #positionAt(path: Path): Position | undefined {
    return this.#positions.get(nameOf(path.slice(0, path.findLastIndex(key => typeof key === 'string') + 1)))
  }

  /** Returns the nearest nullable position at or above an error. */
  #nulledBy(path: Path): Path {
    let end = path.length
    while (end > 0) {
      const position = this.#positionAt(path.slice(0, end))
      if (!position) throw new Error(`There is no field at ${nameOf(path)}.`)
      if (!isNonNullType(typeAt(position.type, path.slice(0, end)))) break
      end--
    }
    return path.slice(0, end)
  }
}

/** Returns the type of a list item, as deep as the number of indexes at the end of the path. */
function typeAt(type: GraphQLOutputType, path: Path): GraphQLOutputType {
  const depth = path.length - 1 - path.findLastIndex(key => typeof key === 'string')
  let at = type
  for (let level = 0; level < depth; level++) {
    const list = getNullableType(at)
    if (!isListType(list)) throw new Error(`${String(type)} has no items at ${nameOf(path)}.`)
    at = list.ofType
  }
  return at
}

function innermost(type: GraphQLOutputType): object {
  const inner = getNullableType(type)
  return isListType(inner) ? innermost(inner.ofType) : inner
}

/** Returns the value at a path, or null when a value on the path is null. */
function valueAt(data: unknown, path: Path): unknown {
  let at = data
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return null
    at = Reflect.get(at, key)
  }
  return at
}

/** Creates a function that finds the possible errors of an operation. */
export function createErrorFinder(schema: GraphQLSchema) {
  let positions = new Map<string, Position>()
  const nullable = nullableSchema(schema, (path, position) => positions.set(nameOf(path), position))
  return async (args: Omit<ExecutionArgs, 'schema'>): Promise<PossibleErrors> => {
    positions = new Map()
    const { data, errors = [] } = await execute({ ...args, schema: nullable })
    const possible = new PossibleErrors(positions)
    for (const error of errors) possible.add(error)
    possible.addNulls(data)
    return possible
  }
}
