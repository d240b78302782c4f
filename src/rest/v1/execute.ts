/**
 * Runs the v1 documents: the same fields and resolvers as graphql-js' own executor, in another way. All parents of a
 * level are completed together; when all of them are there, the answer is written as JSON at once, without an object
 * in between.
 *
 * It is for our own documents, which are known when the service starts, and it refuses to prepare any that needs what
 * it does not do. It has one operation, fragments on object types, in which no key
 * stands twice; `@include`, and our `@omitNull`; no unions, interfaces, `@skip` or inline fragments. A refusal
 * anywhere is the answer to the whole request, as at any REST door: nothing is answered in part. A field without a
 * resolver is a property, never a method. What a scalar writes of a packed cell is the cell as JSON, so a scalar's
 * `serialize` must leave the values of rows as they are. A field that is exposed or read for many parents at once
 * (`ofMany`) has no more to it than that: it goes by its resolver where a plugin, such as the policy, is put before.
 */
import {
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLLeafType,
  type GraphQLList,
  type GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getDirectiveValues,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from 'graphql'
import { type Layout, PackedRow } from '../../db/packed.ts'
import type { Context } from '../../graphql/context.ts'
import { schema } from '../../graphql/schema.ts'
import { prepareVariables } from '../../graphql/variables.ts'
import { fieldOf, keyOf, objectTypeOf, omits, readDirectives } from './document.ts'
import { closingBrace, closingBracket, comma, JsonWriter, openingBrace, openingBracket, toBytes } from './json.ts'

/** A v1 operation: variables in, the response body out, as JSON text in UTF-8. */
export type Operation = (context: Context, variables: object) => Promise<Buffer>

/** What operations.ts holds: a document's text, with the types of its variables and its result. */
export interface TypedText<Variables> {
  toString(): string
  __apiType?: (variables: Variables) => unknown
}

/** What all levels of one request share. */
interface Request {
  context: Context
  variables: Record<string, unknown>
}

/** Writes one of the values of a level. @returns whether there is one: a null is written as such */
type Write = (json: JsonWriter, at: number) => boolean

/** Gets all that is needed to write values of a type. */
type Complete = (values: readonly unknown[], request: Request) => Write | Promise<Write>

/** A selected field. */
interface Selected {
  key: string
  /** Its key in the answer, as JSON writes it before the first value of an object, and before those that follow. */
  opening: Uint8Array
  following: Uint8Array
  /** Whether the key is left out when there is no value (R11). */
  omitNull: boolean
  /** What is said when there is no value, though the schema promises one; null: it does not. */
  nullFault: string | null
  /** The condition of an `@include`. */
  condition: FieldNode | null
  /** A leaf, or a list of them, that is a property of its parent: written with it. Null: `complete` gets it. */
  leaf: { property: string; type: LeafType } | null
  complete: Complete
}

/**
 * Makes an operation of a document. The document is the response as the contract writes it; what it cannot say is
 * done here, for all of them: `@omitNull` leaves keys out, and the body is the object that holds `data`.
 *
 * @returns a function that throws what the resolvers threw
 */
export function prepare<Variables>(text: TypedText<Variables>): Operation {
  const document = parse(text.toString())
  const fragments: Record<string, FragmentDefinitionNode> = {}
  let operation: OperationDefinitionNode | undefined
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition
    if (definition.kind === Kind.OPERATION_DEFINITION) operation = definition
  }
  const root = operation && schema.getRootType(operation.operation)
  if (!operation || !root) throw new Error('A v1 document holds an operation.')
  const { variableDefinitions = [] } = operation
  const readVariables = prepareVariables(variableDefinitions)
  const complete = new Preparation(operation, fragments).body(root, operation.selectionSet)
  return async (context, inputs) => {
    const variables = readVariables({ ...inputs })
    if (!variables) throw new Error('The variables are not those of the document.')
    const write = await complete([undefined], { context, variables })
    const json = new JsonWriter()
    write(json, 0)
    return json.take()
  }
}

/** Prepares the parts of one document. */
class Preparation {
  readonly #operation: OperationDefinitionNode
  readonly #fragments: Record<string, FragmentDefinitionNode>

  constructor(operation: OperationDefinitionNode, fragments: Record<string, FragmentDefinitionNode>) {
    this.#operation = operation
    this.#fragments = fragments
  }

  /** The body alone: the way to it is gone, but not written. */
  body(type: GraphQLObjectType, selections: SelectionSetNode): Complete {
    const nodes = selections.selections.filter(selection => selection.kind === Kind.FIELD)
    if (nodes.some(node => keyOf(node) === 'data')) return this.object(type, selections)
    const [node] = nodes
    if (!node?.selectionSet) throw new Error('A v1 document has a key `data`.')
    const field = fieldOf(type, node)
    const inner = this.body(objectTypeOf(field.type), node.selectionSet)
    const values = this.#values(type, node, field)
    return async (parents, request) => inner(await values(parents, request), request)
  }

  /** Objects of a type, with what is selected of them. None of them is null. */
  object(type: GraphQLObjectType, selections: SelectionSetNode): Complete {
    const all = this.#select(type, selections, false)
    if (new Set(all.map(({ key }) => key)).size < all.length) throw new Error(`A key of ${type.name} stands twice.`)
    const choose = createChoice(all)
    const leavesOf = createLeaves()
    return (parents, request) => {
      const fields = choose(request)
      if (fields.every(({ leaf }) => leaf !== null)) return writeObject(fields, parents, [], leavesOf)
      const pending = fields.map(({ leaf, complete }) => (leaf ? null : complete(parents, request)))
      return Promise.all(pending).then(writes => writeObject(fields, parents, writes, leavesOf))
    }
  }

  #select(type: GraphQLObjectType, { selections }: SelectionSetNode, omitNull: boolean): Selected[] {
    return selections.flatMap(selection => {
      if (selection.kind === Kind.FIELD) return [this.#field(type, selection, omitNull)]
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD && this.#fragments[selection.name.value]
      if (!fragment || selection.directives?.length) throw new Error('A v1 document has plain fragments alone.')
      return this.#select(type, fragment.selectionSet, omits(fragment))
    })
  }

  #field(type: GraphQLObjectType, node: FieldNode, omitNull: boolean): Selected {
    const field = fieldOf(type, node)
    const directives = readDirectives(node)
    const key = JSON.stringify(keyOf(node))
    const inner = isNonNullType(field.type) ? field.type.ofType : field.type
    const property = propertyOf(field)
    const values = this.#values(type, node, field)
    const complete = this.#complete(field.type, node.selectionSet)
    return {
      key,
      opening: toBytes(`{${key}:`),
      following: toBytes(`,${key}:`),
      omitNull: omitNull || directives.omitNull,
      nullFault: isNonNullType(field.type)
        ? `Cannot return null for non-nullable field ${type.name}.${field.name}.`
        : null,
      condition: directives.condition,
      leaf: property !== null && isLeaf(inner) ? { property, type: inner } : null,
      complete: async (parents, request) => complete(await values(parents, request), request),
    }
  }

  /** What the field is for each of its parents. */
  #values(
    type: GraphQLObjectType,
    node: FieldNode,
    field: GraphQLField<unknown, unknown>,
  ): (parents: readonly unknown[], request: Request) => readonly unknown[] | Promise<readonly unknown[]> {
    const property = propertyOf(field)
    if (property !== null) return parents => parents.map(parent => read(parent, property))
    const { resolve = defaultFieldResolver, name } = field
    const { ofMany, pothosResolveWrapped } = field.extensions
    if (ofMany && !pothosResolveWrapped && field.args.length === 0)
      return (parents, { context }) => ofMany(parents, context)
    const path = { prev: undefined, key: keyOf(node), typename: type.name }
    const [fieldNodes, operation, fragments] = [[node], this.#operation, this.#fragments]
    return (parents, { context, variables }) => {
      const info: GraphQLResolveInfo = {
        fieldName: name,
        fieldNodes,
        returnType: field.type,
        parentType: type,
        path,
        schema,
        fragments,
        rootValue: undefined,
        operation,
        variableValues: variables,
      }
      const args = getArgumentValues(field, node, variables)
      const values = parents.map(parent => resolve(parent, args, context, info))
      return values.some(isPromise) ? Promise.all(values) : values
    }
  }

  #complete(type: GraphQLOutputType, selections: SelectionSetNode | undefined): Complete {
    if (isNonNullType(type)) return this.#complete(type.ofType, selections)
    if (isLeaf(type)) return values => (json, at) => writeLeaf(json, type, values[at])
    if (isListType(type)) return completeList(this.#complete(type.ofType, selections), type)
    return completeNullable(this.object(objectTypeOf(type), selections ?? { kind: Kind.SELECTION_SET, selections: [] }))
  }
}

/** Lists whose items are completed together, whichever list they are of. */
function completeList(complete: Complete, type: GraphQLList<GraphQLOutputType>): Complete {
  const nullable = !isNonNullType(type.ofType)
  return async (lists, request) => {
    const items: unknown[] = []
    const firsts = lists.map(list => (Array.isArray(list) ? items.push(...list) - list.length : null))
    const write = await complete(items, request)
    return (json, at) => {
      const [first, list] = [firsts[at], lists[at]]
      if (first === undefined || first === null || !Array.isArray(list)) return json.null()
      json.byte(openingBracket)
      for (let index = 0; index < list.length; index++) {
        if (index > 0) json.byte(comma)
        if (!write(json, first + index) && !nullable) throw new GraphQLError(`Cannot return null in a ${String(type)}.`)
      }
      json.byte(closingBracket)
      return true
    }
  }
}

function completeNullable(complete: Complete): Complete {
  return async (values, request) => {
    if (!values.some(isNothing)) return complete(values, request)
    const there = values.filter(value => !isNothing(value))
    const write = await complete(there, request)
    let next = 0
    const places = values.map(value => (isNothing(value) ? null : next++))
    return (json, at) => {
      const place = places[at] ?? null
      return place === null ? json.null() : write(json, place)
    }
  }
}

/** Where the leaves among fields are in packed rows of a layout; null: in no cell. */
type Leaves = ReadonlyArray<ReturnType<Layout['get']> | null>

/** Finds them once for each layout and choice of fields. */
function createLeaves(): (layout: Layout, fields: readonly Selected[]) => Leaves {
  const known = new WeakMap<Layout, WeakMap<readonly Selected[], Leaves>>()
  return (layout, fields) => {
    const ofLayout = known.get(layout) ?? new WeakMap<readonly Selected[], Leaves>()
    known.set(layout, ofLayout)
    const found = ofLayout.get(fields) ?? fields.map(({ leaf }) => (leaf ? layout.get(leaf.property) : null))
    ofLayout.set(fields, found)
    return found
  }
}

/** @param writes of those fields that are no leaves */
function writeObject(
  fields: readonly Selected[],
  parents: readonly unknown[],
  writes: readonly (Write | null)[],
  leavesOf: ReturnType<typeof createLeaves>,
): Write {
  let layout: Layout | null = null
  let leaves: Leaves = []
  return (json, at) => {
    const parent = parents[at]
    const row = parent instanceof PackedRow ? parent : null
    if (row && row.layout !== layout) {
      layout = row.layout
      leaves = leavesOf(layout, fields)
    }
    let empty = true
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index]!
      const cell = row && leaves[index]
      if (cell && field.omitNull && row.all.cells[row.first + cell.offset] === -1) continue
      const before = json.at
      json.plain(empty ? field.opening : field.following)
      const written = cell
        ? json.cell(row.all, row.first + cell.offset, cell.kind)
        : field.leaf
          ? writeLeaf(json, field.leaf.type, read(parent, field.leaf.property))
          : (writes[index]?.(json, at) ?? json.null())
      if (!written) {
        if (field.nullFault !== null) throw new GraphQLError(field.nullFault)
        if (field.omitNull) {
          json.at = before
          continue
        }
      }
      empty = false
    }
    if (empty) json.byte(openingBrace)
    json.byte(closingBrace)
    return true
  }
}

const isNothing = (value: unknown) => value === null || value === undefined

const isPromise = (value: unknown): boolean => value instanceof Promise

/** The property that the field is, when it is nothing else. */
function propertyOf({ resolve, name, extensions }: GraphQLField<unknown, unknown>): string | null {
  if (!resolve) return name
  const { pothosExposedField, pothosResolveWrapped } = extensions
  return typeof pothosExposedField === 'string' && !pothosResolveWrapped ? pothosExposedField : null
}

const read = (parent: unknown, property: string): unknown =>
  typeof parent === 'object' && parent !== null ? Reflect.get(parent, property) : undefined

function writeLeaf(json: JsonWriter, type: LeafType, value: unknown): boolean {
  if (isNothing(value)) return json.null()
  if (!isListType(type)) return json.value(type.serialize(value))
  return json.value(Array.isArray(value) ? value.map(item => type.ofType.ofType.serialize(item)) : null)
}

/** A leaf, or a list of leaves of which none is null. */
type LeafType = GraphQLLeafType | GraphQLList<GraphQLNonNull<GraphQLLeafType>>

const isLeaf = (type: GraphQLOutputType): type is LeafType =>
  isLeafType(type) || (isListType(type) && isNonNullType(type.ofType) && isLeafType(type.ofType.ofType))

/** Which of the fields a request includes: the same array for the same choice, so that it can be a key. */
function createChoice(all: readonly Selected[]): (request: Request) => readonly Selected[] {
  if (all.every(({ condition }) => condition === null)) return () => all
  const choices = new Map<string, readonly Selected[]>()
  return ({ variables }) => {
    const included = all.map(
      ({ condition }) => !condition || getDirectiveValues(GraphQLIncludeDirective, condition, variables)?.if === true,
    )
    const name = included.join()
    const choice = choices.get(name) ?? all.filter((_, index) => included[index])
    choices.set(name, choice)
    return choice
  }
}
