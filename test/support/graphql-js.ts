import { type DocumentNode, execute, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql'
import type { Context } from '../../src/graphql/context.ts'
import { schema } from '../../src/graphql/schema.ts'

/** A response object of a document: the keys that are left out when null (R11), and its nested objects. */
interface Shape {
  leftOut: Set<string>
  nested: Map<string, Shape>
}

/**
 * Runs a v1 document with graphql-js' executor, as the reference for the service's own executor. It applies `@omitNull`
 * and extracts the body afterwards.
 */
export function prepareWithGraphqlJs(document: DocumentNode): (context: Context, variables: object) => Promise<object> {
  const { shape, path } = read(document)
  const bodyShape = path.reduce((outer, key) => outer.nested.get(key) ?? outer, shape)
  return async (contextValue, variables) => {
    const { data, errors } = await execute({ schema, document, contextValue, variableValues: { ...variables } })
    if (errors?.[0]) throw errors[0].originalError ?? errors[0]
    const found = path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : value), data)
    const body = leaveOut(found, bodyShape)
    if (!isObject(body)) throw new Error('A v1 document without an error has a body.')
    return body
  }
}

/** Returns the shape of a document's response, and the path to its body. */
function read(document: DocumentNode): { shape: Shape; path: string[] } {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const omits = (node: { directives?: readonly { name: { value: string } }[] | undefined }) =>
    node.directives?.some(directive => directive.name.value === 'omitNull') ?? false

  const readInto = (shape: Shape, selections: SelectionSetNode, all: boolean): Shape => {
    for (const selection of selections.selections) {
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value
        if (all || omits(selection)) shape.leftOut.add(key)
        if (selection.selectionSet) shape.nested.set(key, readInto(emptyShape(), selection.selectionSet, false))
      } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value)
        if (fragment) readInto(shape, fragment.selectionSet, omits(fragment))
      }
    }
    return shape
  }

  const operation = document.definitions.find(definition => definition.kind === Kind.OPERATION_DEFINITION)
  if (!operation) throw new Error('A v1 document has an operation.')
  const shape = readInto(emptyShape(), operation.selectionSet, false)
  return { shape, path: pathToData(operation.selectionSet) }
}

const emptyShape = (): Shape => ({ leftOut: new Set(), nested: new Map() })

/** Returns the keys that lead to the outermost object with a key `data`. */
function pathToData({ selections }: SelectionSetNode): string[] {
  const fields = selections.filter(selection => selection.kind === Kind.FIELD)
  const keyed = fields.map(field => ({ key: field.alias?.value ?? field.name.value, inner: field.selectionSet }))
  if (keyed.some(({ key }) => key === 'data')) return []
  const [outer] = keyed
  if (!outer?.inner) throw new Error('A v1 document has a key `data`.')
  return [outer.key, ...pathToData(outer.inner)]
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function leaveOut(value: unknown, shape: Shape | undefined): unknown {
  if (!shape || !isObject(value)) return value
  if (Array.isArray(value)) return value.map(item => leaveOut(item, shape))
  const kept: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner === null && shape.leftOut.has(key)) continue
    kept[key] = leaveOut(inner, shape.nested.get(key))
  }
  return kept
}
