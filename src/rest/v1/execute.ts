/**
 * Runs the v1 documents: the same fields and resolvers as graphql-js' own executor, in another way. All parents of a
 * level are completed together, and what they come to is written as JSON text at once, without an object in between.
 *
 * It is for our own documents, which are known when the service starts, and it refuses to prepare any that needs what
 * it does not do. It has one operation, whose variables graphql-js reads; fragments on object types, in which no key
 * stands twice; `@include`, and our `@omitNull`; no unions, interfaces, `@skip` or inline fragments. A refusal
 * anywhere is the answer to the whole request, as at any REST door: nothing is answered in part. A field without a
 * resolver is a property, never a method. What a scalar writes of a packed cell is the cell as JSON, so a scalar's
 * `serialize` must leave the values of rows as they are.
 */
import {
  type DirectiveNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getDirectiveValues,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from 'graphql'
import { jsonOfCell, type Layout, PackedRow, quote } from '../../db/packed.ts'
import type { Context } from '../../graphql/context.ts'
import { schema } from '../../graphql/schema.ts'

/** A v1 operation: variables in, the response body as JSON text out. */
export type Operation = (context: Context, variables: object) => Promise<string>

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

/** What a field comes to for each of its parents, as JSON text. */
type Texts = readonly string[]

/** Writes the values of a type. */
type Complete = (values: readonly unknown[], request: Request) => Texts | Promise<Texts>

/** A selected field. */
interface Selected {
  name: string
  /** Its key in the answer, as JSON writes it before the first value of an object, and before those that follow. */
  opening: string
  following: string
  /** Whether the key is left out when there is no value (R11). */
  omitNull: boolean
  nonNull: boolean
  /** The condition of an `@include`. */
  condition: FieldNode | null
  /** A leaf that is a property of its parent: written with the parent. Null: `texts` says what it comes to. */
  leaf: GraphQLLeafType | null
  texts: (parents: readonly unknown[], request: Request) => Promise<Texts>
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
  const complete = new Preparation(operation, fragments).body(root, operation.selectionSet)
  return async (context, inputs) => {
    const { coerced, errors } = getVariableValues(schema, variableDefinitions, { ...inputs })
    if (errors) throw errors[0]
    const [body] = await complete([undefined], { context, variables: coerced })
    return body ?? ''
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
    if (new Set(all.map(({ opening }) => opening)).size < all.length)
      throw new Error(`A key of ${type.name} stands twice.`)
    const choose = createChoice(all)
    const writer = createWriter(type)
    return (parents, request) => {
      const fields = choose(request)
      if (fields.every(({ leaf }) => leaf !== null)) return parents.map(parent => writer(fields, parent, [], 0))
      const pending = fields.map(({ leaf, texts }) => (leaf ? null : texts(parents, request)))
      return Promise.all(pending).then(columns => parents.map((parent, at) => writer(fields, parent, columns, at)))
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
    const { known, condition } = readDirectives(node)
    const key = JSON.stringify(keyOf(node))
    const inner = isNonNullType(field.type) ? field.type.ofType : field.type
    const values = this.#values(type, node, field)
    const complete = this.#complete(field.type, node.selectionSet)
    return {
      name: field.name,
      opening: `{${key}:`,
      following: `,${key}:`,
      omitNull: omitNull || known.has('omitNull'),
      nonNull: isNonNullType(field.type),
      condition,
      leaf: !field.resolve && isLeafType(inner) ? inner : null,
      texts: async (parents, request) => complete(await values(parents, request), request),
    }
  }

  /** What the field is for each of its parents. */
  #values(type: GraphQLObjectType, node: FieldNode, field: GraphQLField<unknown, unknown>) {
    const { resolve, name } = field
    if (!resolve) return (parents: readonly unknown[]) => parents.map(parent => propertyOf(parent, name))
    const fixed = {
      fieldName: name,
      fieldNodes: [node],
      returnType: field.type,
      parentType: type,
      path: { prev: undefined, key: keyOf(node), typename: type.name },
      schema,
      fragments: this.#fragments,
      rootValue: undefined,
      operation: this.#operation,
    }
    return (parents: readonly unknown[], { context, variables }: Request) => {
      const info: GraphQLResolveInfo = { ...fixed, variableValues: variables }
      const args = getArgumentValues(field, node, variables)
      return Promise.all(parents.map(parent => resolve(parent, args, context, info)))
    }
  }

  #complete(type: GraphQLOutputType, selections: SelectionSetNode | undefined): Complete {
    if (isNonNullType(type)) return this.#complete(type.ofType, selections)
    if (isListType(type)) return completeList(this.#complete(type.ofType, selections))
    if (isLeafType(type)) return values => values.map(value => leafText(type, value))
    return completeNullable(this.object(objectTypeOf(type), selections ?? { kind: Kind.SELECTION_SET, selections: [] }))
  }
}

/** Lists whose items are completed together, whichever list they are of. */
function completeList(complete: Complete): Complete {
  return async (lists, request) => {
    const texts = await complete(
      lists.flatMap(list => (Array.isArray(list) ? list : [])),
      request,
    )
    let at = 0
    return lists.map(list => {
      if (!Array.isArray(list)) return 'null'
      const from = at
      at += list.length
      return `[${texts.slice(from, at).join(',')}]`
    })
  }
}

function completeNullable(complete: Complete): Complete {
  return async (values, request) => {
    if (!values.some(isNothing)) return complete(values, request)
    const texts = await complete(
      values.filter(value => !isNothing(value)),
      request,
    )
    let at = 0
    return values.map(value => (isNothing(value) ? 'null' : (texts[at++] ?? 'null')))
  }
}

/** A leaf of a packed row: where it is; null for what is no cell. */
type Cells = ReadonlyArray<ReturnType<Layout['get']> | null>

/** Writes one object after the other; the cells of packed rows without making values of them. */
function createWriter(type: GraphQLObjectType) {
  const known = new WeakMap<Layout, WeakMap<readonly Selected[], Cells>>()
  const cellsOf = (layout: Layout, fields: readonly Selected[]): Cells => {
    const ofLayout = known.get(layout) ?? new WeakMap<readonly Selected[], Cells>()
    known.set(layout, ofLayout)
    const found = ofLayout.get(fields) ?? fields.map(({ leaf, name }) => (leaf ? layout.get(name) : null))
    ofLayout.set(fields, found)
    return found
  }
  return (fields: readonly Selected[], parent: unknown, columns: readonly (Texts | null)[], at: number): string => {
    const packed = parent instanceof PackedRow ? parent.cells : null
    const cells = parent instanceof PackedRow ? cellsOf(parent.layout, fields) : null
    let text = ''
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index]!
      const cell = cells?.[index]
      const value =
        cell && packed
          ? jsonOfCell(packed[cell.index] ?? null, cell.kind)
          : field.leaf
            ? leafText(field.leaf, propertyOf(parent, field.name))
            : (columns[index]?.[at] ?? 'null')
      if (value === 'null') {
        if (field.nonNull)
          throw new GraphQLError(`Cannot return null for non-nullable field ${type.name}.${field.name}.`)
        if (field.omitNull) continue
      }
      // In two steps: what is appended is kept as it is, and copied once, when the answer is sent.
      text += text === '' ? field.opening : field.following
      text += value
    }
    return text === '' ? '{}' : `${text}}`
  }
}

const isNothing = (value: unknown) => value === null || value === undefined

const propertyOf = (parent: unknown, name: string): unknown =>
  typeof parent === 'object' && parent !== null ? Reflect.get(parent, name) : undefined

function leafText(type: GraphQLLeafType, value: unknown): string {
  if (isNothing(value)) return 'null'
  const written = type.serialize(value)
  return typeof written === 'string' ? quote(written) : JSON.stringify(written)
}

const keyOf = (node: FieldNode) => node.alias?.value ?? node.name.value

function fieldOf(type: GraphQLObjectType, node: FieldNode): GraphQLField<unknown, unknown> {
  const field = type.getFields()[node.name.value]
  if (!field) throw new Error(`${type.name} has no field ${node.name.value}.`)
  return field
}

function objectTypeOf(type: GraphQLOutputType): GraphQLObjectType {
  const inner = isNonNullType(type) ? type.ofType : type
  if (!isObjectType(inner)) throw new Error(`${String(type)} is no object type.`)
  return inner
}

const omits = ({ directives = [] }: { directives?: readonly DirectiveNode[] }) =>
  directives.some(directive => directive.name.value === 'omitNull')

/** The directives of a field, which must be ones that are understood here. */
function readDirectives(node: FieldNode): { known: Set<string>; condition: FieldNode | null } {
  const known = new Set((node.directives ?? []).map(directive => directive.name.value))
  for (const name of known) {
    if (name !== 'include' && name !== 'omitNull') throw new Error(`@${name} is not understood.`)
  }
  return { known, condition: known.has('include') ? node : null }
}

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
