/**
 * Runs the v1 documents: the same fields and resolvers as graphql-js' own executor, in another way. All parents of a
 * level are completed together; when all of them are there, the answer is written as JSON at once, without an object
 * in between.
 *
 * It is for our own documents, which are known when the service starts, and it refuses to prepare any that needs what
 * it does not do. It has one operation, fragments on object types, in which no key
 * stands twice; `@include`, and our `@omitNull`; no unions, interfaces, `@skip` or inline fragments. A refusal
 * anywhere is the answer to the whole request, as at any REST door: nothing is answered in part, and what else was begun
 * is not waited for. A field without a resolver is a property, never a method; properties and the items of lists are no
 * promises, lists are arrays, types are taken at their word (`isTypeOf`), and `info.path` has no indexes. A column
 * of a lazy row is written as its JSON when its codec has that for the field's type, and serialized otherwise. A field that is exposed or read for many parents at once (`resolveBatch`) has no more to it than that: it
 * goes by its resolver where a plugin, such as the policy, is put before.
 */
import {
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from 'graphql'
import { allMaybePromise, mapMaybePromise } from '../../domain/maybe-promise.ts'
import type { Context } from '../../graphql/context.ts'
import { schema } from '../../graphql/schema.ts'
import { prepareVariables } from '../../graphql/variables.ts'
import { toPhrase } from './cell.ts'
import {
  type Complete,
  completeList,
  completeNullable,
  completeObjects,
  type LeafType,
  type Request,
  read,
  type Selected,
  writeLeaf,
} from './complete.ts'
import { fieldOf, keyOf, objectTypeOf, omits, prepareArguments, readDirectives } from './document.ts'
import { JsonWriter } from './json.ts'

/** A v1 operation: variables in, the response body out, as JSON text in UTF-8. */
export type Operation = (context: Context, variables: object) => Buffer | Promise<Buffer>

/** What operations.ts holds: a document's text, with the type of its variables. */
export interface TypedText<Variables> {
  toString(): string
  __apiType?: (variables: Variables) => unknown
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
  return (context, inputs) => {
    const variables = readVariables(inputs)
    if (!variables) throw new Error('The variables are not those of the document.')
    return mapMaybePromise(complete([undefined], { context, variables }), write => {
      const json = new JsonWriter()
      write(json, 0)
      return json.take()
    })
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
    return (parents, request) => mapMaybePromise(values(parents, request), found => inner(found, request))
  }

  /** Objects of a type, with what is selected of them. None of them is null. */
  object(type: GraphQLObjectType, selections: SelectionSetNode): Complete {
    const all = this.#select(type, selections, false)
    if (new Set(all.map(({ key }) => key)).size < all.length) throw new Error(`A key of ${type.name} stands twice.`)
    return completeObjects(all)
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
      opening: toPhrase(`{${key}:`),
      following: toPhrase(`,${key}:`),
      omitted: (omitNull || directives.omitNull) && !isNonNullType(field.type),
      nullFault: isNonNullType(field.type)
        ? `Cannot return null for non-nullable field ${type.name}.${field.name}.`
        : null,
      condition: directives.condition,
      leaf: property !== null && isLeaf(inner) ? { property, type: inner } : null,
      complete: (parents, request) => mapMaybePromise(values(parents, request), found => complete(found, request)),
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
    const { resolveBatch, pothosResolveWrapped } = field.extensions
    if (resolveBatch && !pothosResolveWrapped && field.args.length === 0)
      return (parents, { context }) => resolveBatch(parents, context)
    const readArguments = prepareArguments(field, node)
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
      const args = readArguments(variables)
      return allMaybePromise(parents, parent => resolve(parent, args, context, info))
    }
  }

  #complete(type: GraphQLOutputType, selections: SelectionSetNode | undefined): Complete {
    if (isNonNullType(type)) return this.#complete(type.ofType, selections)
    if (isLeaf(type)) return values => (json, at) => writeLeaf(json, type, values[at])
    if (isListType(type)) return completeList(this.#complete(type.ofType, selections), type)
    return completeNullable(this.object(objectTypeOf(type), selections ?? { kind: Kind.SELECTION_SET, selections: [] }))
  }
}

/** The property that the field is, when it is nothing else. */
function propertyOf({ resolve, name, extensions }: GraphQLField<unknown, unknown>): string | null {
  if (!resolve) return name
  const { pothosExposedField, pothosResolveWrapped } = extensions
  return typeof pothosExposedField === 'string' && !pothosResolveWrapped ? pothosExposedField : null
}

function isLeaf(type: GraphQLOutputType): type is LeafType {
  const item = isListType(type) && isNonNullType(type.ofType) ? type.ofType.ofType : type
  return isLeafType(item)
}
