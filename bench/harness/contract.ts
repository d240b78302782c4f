import {
  type DirectiveNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  parse,
  print,
  type SelectionSetNode,
  visit,
} from 'graphql'

/** A v1 document, as a stranger would ask the same of a GraphQL endpoint. */
export interface Question {
  /** Without the document's aliases and directives. */
  query: string
  /** Brings what is answered (`data` of the response) back into the shape of v1's body. */
  toV1(data: unknown): Record<string, unknown>
}

const has = (node: { directives?: readonly DirectiveNode[] | undefined }, name: string) =>
  node.directives?.some(directive => directive.name.value === name) ?? false

/** @param text one of the REST door's own documents: so what is compared is the same, whatever v1 becomes */
export function questionOf(text: string): Question {
  const document = parse(text)
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const operation = document.definitions.find(definition => definition.kind === Kind.OPERATION_DEFINITION)
  if (!operation) throw new Error('A v1 document holds an operation.')

  const shape = (value: unknown, { selections }: SelectionSetNode, omitNull: boolean): unknown => {
    if (Array.isArray(value)) return value.map(item => shape(item, { kind: Kind.SELECTION_SET, selections }, omitNull))
    if (value === null || typeof value !== 'object') return value
    const shaped: Record<string, unknown> = {}
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value)!
        Object.assign(shaped, shape(value, fragment.selectionSet, has(fragment, 'omitNull')))
      } else if (selection.kind === Kind.FIELD && !has(selection, 'include')) {
        const found = (value as Record<string, unknown>)[selection.name.value]
        if (found === null && (omitNull || has(selection, 'omitNull'))) continue
        const key = selection.alias?.value ?? selection.name.value
        shaped[key] = selection.selectionSet ? shape(found, selection.selectionSet, false) : found
      }
    }
    return shaped
  }
  return { query: print(bare(document)), toV1: data => bodyIn(shape(data, operation.selectionSet, false)) }
}

/** The document without aliases and directives, and without what is included only on demand. */
function bare(document: DocumentNode): DocumentNode {
  const stripped = visit(document, {
    Field: node => (has(node, 'include') ? null : { ...node, alias: undefined, directives: [] }),
    FragmentDefinition: node => ({ ...node, directives: [] }),
  })
  const used = new Set<string>()
  visit(stripped, {
    VariableDefinition: () => false,
    Variable: node => {
      used.add(node.name.value)
    },
  })
  return visit(stripped, { VariableDefinition: node => (used.has(node.variable.name.value) ? undefined : null) })
}

/** The outermost object with a key `data`. */
function bodyIn(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object') throw new Error('Nothing was answered.')
  if ('data' in value) return value as Record<string, unknown>
  return bodyIn(Object.values(value)[0])
}
