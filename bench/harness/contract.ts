/** The v1 contract, read from the REST transport's documents: how to ask for it by GraphQL, and which fields it has. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DirectiveNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  type SelectionNode,
  type SelectionSetNode,
  type TypeNode,
  visit,
} from 'graphql'
import { root } from './packages.ts'

/** A body of v1. */
export type Body = Record<string, unknown>

/** One operation of v1. */
export interface ContractOperation {
  /** The document as a GraphQL client would send it: without aliases and directives. */
  query: string
  /** The name of the variable that holds a record's id, if the operation takes one. */
  idVariable: string | undefined
  /** @returns v1's body from `data` of a response to `query` */
  fromGraphql(data: unknown): Body
  /** @returns a body with the contract's fields alone, in the contract's order */
  fromRest(body: unknown): Body
}

/** A contract, by the names of its operations. */
export interface Contract {
  operation(name: string): ContractOperation
  /** The contract's fields that the given schema lacks, such as `CatalogVoucher.summary`. */
  missing: string[]
}

type Fragments = Map<string, FragmentDefinitionNode>

const hasDirective = (node: { directives?: readonly DirectiveNode[] | undefined }, name: string) =>
  node.directives?.some(directive => directive.name.value === name) ?? false

/**
 * Reads the contract.
 *
 * @param served SDL of the types that all contenders serve. Of these types, the contract is cut down to the fields that
 *   the SDL has, so that contenders stay comparable when v1 gains a field. Without it, nothing is cut.
 */
export function readContract(served?: string): Contract {
  const fragments: Fragments = new Map()
  const operations = new Map<string, OperationDefinitionNode>()
  const servedFields = served === undefined ? new Map<string, Set<string>>() : fieldsByType(served)
  const missing: string[] = []
  for (const definition of readDocuments()) {
    if (definition.kind === Kind.OPERATION_DEFINITION && definition.name) {
      operations.set(definition.name.value, definition)
    }
    if (definition.kind !== Kind.FRAGMENT_DEFINITION) continue
    const type = definition.typeCondition.name.value
    const known = servedFields.get(type)
    const selections = definition.selectionSet.selections.filter(selection => {
      if (selection.kind !== Kind.FIELD || known === undefined || known.has(selection.name.value)) return true
      missing.push(`${type}.${selection.name.value}`)
      return false
    })
    fragments.set(definition.name.value, { ...definition, selectionSet: { ...definition.selectionSet, selections } })
  }
  return {
    operation(name) {
      const operation = operations.get(name)
      if (!operation) throw new Error(`The documents of v1 have no operation ${name}.`)
      return readOperation(operation, fragments)
    },
    missing,
  }
}

function readDocuments() {
  const directory = join(root, 'src/rest/v1')
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.graphql'))
  return files.flatMap(file => parse(readFileSync(join(directory, file), 'utf8')).definitions)
}

function fieldsByType(sdl: string): Map<string, Set<string>> {
  const types = new Map<string, Set<string>>()
  for (const definition of parse(sdl).definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) continue
    types.set(definition.name.value, new Set(definition.fields?.map(field => field.name.value)))
  }
  return types
}

function readOperation(operation: OperationDefinitionNode, fragments: Fragments): ContractOperation {
  const { path, body } = locateBody(operation.selectionSet)
  const plain = withoutAliases(operation)
  const isId = (type: TypeNode): boolean =>
    type.kind === Kind.NON_NULL_TYPE ? isId(type.type) : type.kind === Kind.NAMED_TYPE && type.name.value === 'ID'
  const ids = plain.variableDefinitions?.filter(({ type }) => isId(type)).map(({ variable }) => variable.name.value)
  return {
    query: [plain, ...spreadFragments(plain, fragments)].map(print).join('\n'),
    idVariable: ids?.find(name => name !== 'tenant'),
    fromGraphql: data =>
      toBody(
        path.reduce((value, field) => (isRecord(value) ? value[field] : undefined), data),
        body,
        fragments,
        'name',
      ),
    fromRest: found => toBody(found, body, fragments, 'key'),
  }
}

/** @returns the selection that is v1's body, the one that holds `data`, and the fields that lead to it */
function locateBody(selections: SelectionSetNode): { path: string[]; body: SelectionSetNode } {
  const path: string[] = []
  let body = selections
  while (!body.selections.some(selection => selection.kind === Kind.FIELD && keyOf(selection) === 'data')) {
    const [field] = body.selections
    if (field?.kind !== Kind.FIELD || !field.selectionSet) throw new Error('A v1 document selects `data`.')
    path.push(field.name.value)
    body = field.selectionSet
  }
  return { path, body }
}

type FieldSelection = Extract<SelectionNode, { kind: Kind.FIELD }>

const keyOf = (field: FieldSelection) => field.alias?.value ?? field.name.value

/** @returns the definition without aliases, directives, fields included on demand and variables used by these alone */
function withoutAliases<Node extends OperationDefinitionNode | FragmentDefinitionNode>(node: Node): Node {
  return visit(node, {
    Field: field => (hasDirective(field, 'include') ? null : { ...field, alias: undefined, directives: [] }),
    FragmentDefinition: fragment => ({ ...fragment, directives: [] }),
    VariableDefinition: variable =>
      // Only `@include` takes a Boolean in v1's documents.
      print(variable.type).startsWith('Boolean') ? null : undefined,
  })
}

/** @returns the fragments that a definition spreads, and those that these spread */
function spreadFragments(
  node: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: Fragments,
  found = new Set<FragmentDefinitionNode>(),
  seen = new Set<string>(),
): FragmentDefinitionNode[] {
  visit(node, {
    FragmentSpread: ({ name }) => {
      const fragment = fragments.get(name.value)
      if (!fragment || seen.has(name.value)) return
      seen.add(name.value)
      const plain = withoutAliases(fragment)
      found.add(plain)
      spreadFragments(plain, fragments, found, seen)
    },
  })
  return [...found]
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function toBody(value: unknown, selections: SelectionSetNode, fragments: Fragments, source: Source): Body {
  if (!isRecord(value)) throw new Error(`The answer has no body: ${JSON.stringify(value)?.slice(0, 200)}`)
  return shape(value, selections, fragments, source, false)
}

/** The place of a value: at the key of v1, where null means null, or at the name of the field in the schema. */
type Source = 'key' | 'name'

function shape(
  value: Record<string, unknown>,
  { selections }: SelectionSetNode,
  fragments: Fragments,
  source: Source,
  omitNull: boolean,
): Body {
  const shaped: Body = {}
  for (const selection of selections) {
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      const fragment = fragments.get(selection.name.value)
      if (!fragment) throw new Error(`The documents of v1 have no fragment ${selection.name.value}.`)
      const omits = hasDirective(fragment, 'omitNull')
      Object.assign(shaped, shape(value, fragment.selectionSet, fragments, source, omits))
    }
    if (selection.kind !== Kind.FIELD || hasDirective(selection, 'include')) continue
    const key = keyOf(selection)
    const found = value[source === 'key' ? key : selection.name.value]
    if (found === undefined) continue
    if (source === 'name' && found === null && (omitNull || hasDirective(selection, 'omitNull'))) continue
    const inner = (item: unknown): unknown =>
      selection.selectionSet && isRecord(item) ? shape(item, selection.selectionSet, fragments, source, false) : item
    shaped[key] = Array.isArray(found) ? found.map(inner) : inner(found)
  }
  return shaped
}
