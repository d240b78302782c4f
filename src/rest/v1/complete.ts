import {
  type FieldNode,
  GraphQLError,
  GraphQLIncludeDirective,
  type GraphQLLeafType,
  type GraphQLList,
  type GraphQLNonNull,
  type GraphQLOutputType,
  getDirectiveValues,
  isListType,
  isNonNullType,
} from 'graphql'
import { type ColumnLayout, LazyRow } from '../../db/row-codec.ts'
import { allMaybePromise, mapMaybePromise } from '../../domain/maybe-promise.ts'
import type { Context } from '../../graphql/context.ts'
import {
  closingBrace,
  closingBracket,
  comma,
  type JsonWriter,
  type Member,
  type MemberForm,
  openingBrace,
  openingBracket,
} from './json.ts'

/** What all levels of one request share. */
export interface Request {
  context: Context
  variables: Record<string, unknown>
}

/** Writes one of the values of a level. @returns whether there is one: a null is written as such */
export type Write = (json: JsonWriter, at: number) => boolean

/** Gets all that is needed to write values of a type. */
export type Complete = (values: readonly unknown[], request: Request) => Write | Promise<Write>

/** A selected field. */
export interface Selected extends MemberForm {
  key: string
  /** The condition of an `@include`. */
  condition: FieldNode | null
  /** A leaf, or a list of them, that is a property of its parent: written with it. Null: `complete` gets it. */
  leaf: { property: string; type: LeafType } | null
  complete: Complete
}

/** A leaf, or a list of leaves of which none is null. */
export type LeafType = GraphQLLeafType | GraphQLList<GraphQLNonNull<GraphQLLeafType>>

const nothing: Write = json => json.null()

/** Lists whose items are completed together, whichever list they are of. */
export function completeList(complete: Complete, type: GraphQLList<GraphQLOutputType>): Complete {
  const nullable = !isNonNullType(type.ofType)
  return (lists, request) => {
    const items: unknown[] = []
    const firsts = lists.map(list => (Array.isArray(list) ? items.push(...list) - list.length : null))
    // Of no records there is nothing to be read.
    return mapMaybePromise(items.length > 0 ? complete(items, request) : nothing, write => (json, at) => {
      const [first, list] = [firsts[at], lists[at]]
      if (first === undefined || first === null || !Array.isArray(list)) return json.null()
      json.byte(openingBracket)
      for (let index = 0; index < list.length; index++) {
        if (index > 0) json.byte(comma)
        if (!write(json, first + index) && !nullable) throw new GraphQLError(`Cannot return null in a ${String(type)}.`)
      }
      json.byte(closingBracket)
      return true
    })
  }
}

export function completeNullable(complete: Complete): Complete {
  return (values, request) => {
    if (!values.some(isNothing)) return complete(values, request)
    const there = values.filter(value => !isNothing(value))
    let next = 0
    const places = values.map(value => (isNothing(value) ? null : next++))
    return mapMaybePromise(complete(there, request), write => (json, at) => {
      const place = places[at] ?? null
      return place === null ? json.null() : write(json, place)
    })
  }
}

/** What is known of fields in packed rows of a layout. */
interface InRows {
  /** Where the leaves among them are; null: in no cell. */
  cells: ReadonlyArray<ReturnType<ColumnLayout['get']> | null>
  /** The same as members, when all of them are cells. */
  members: readonly Member[] | null
}

function findInRows(layout: ColumnLayout, fields: readonly Selected[]): InRows {
  const cells = fields.map(({ leaf }) => {
    const column = leaf && layout.get(leaf.property)
    return column?.codec.scalars.includes(String(leaf?.type)) ? column : null
  })
  const members = fields.flatMap((field, index) => {
    const cell = cells[index]
    const { opening, following, omitted, nullFault } = field
    return cell ? [{ opening, following, omitted, nullFault, offset: cell.offset, codec: cell.codec }] : []
  })
  return { cells, members: members.length === fields.length ? members : null }
}

/** Finds it once for each layout and choice of fields. */
function createRowFinder(): (layout: ColumnLayout, fields: readonly Selected[]) => InRows {
  const known = new WeakMap<ColumnLayout, WeakMap<readonly Selected[], InRows>>()
  return (layout, fields) => {
    const ofLayout = known.get(layout) ?? new WeakMap<readonly Selected[], InRows>()
    known.set(layout, ofLayout)
    const found = ofLayout.get(fields) ?? findInRows(layout, fields)
    ofLayout.set(fields, found)
    return found
  }
}

/** @param all what is selected of the objects, none of which is null */
export function completeObjects(all: readonly Selected[]): Complete {
  const choose = createChoice(all)
  const inRowsOf = createRowFinder()
  return (parents, request) => {
    const fields = choose(request)
    if (fields.every(({ leaf }) => leaf !== null)) return writeObject(fields, parents, [], inRowsOf)
    return mapMaybePromise(
      allMaybePromise(fields, ({ leaf, complete }) => (leaf ? null : complete(parents, request))),
      writes => writeObject(fields, parents, writes, inRowsOf),
    )
  }
}

/** @param writes of those fields that are no leaves */
function writeObject(
  fields: readonly Selected[],
  parents: readonly unknown[],
  writes: readonly (Write | null)[],
  inRowsOf: ReturnType<typeof createRowFinder>,
): Write {
  let layout: ColumnLayout | null = null
  let inRows: InRows = { cells: [], members: null }
  return (json, at) => {
    const parent = parents[at]
    const row = parent instanceof LazyRow ? parent : null
    if (row && row.layout !== layout) {
      layout = row.layout
      inRows = inRowsOf(layout, fields)
    }
    if (row && inRows.members) {
      json.row(row.records, row.first, inRows.members)
      return true
    }
    let empty = true
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index]!
      const cell = row && inRows.cells[index]
      if (cell && field.omitted && row.records.bounds[row.first + cell.offset] === -1) continue
      const before = json.length
      json.phrase(empty ? field.opening : field.following)
      const written = cell
        ? json.cell(row.records, row.first + cell.offset, cell.codec)
        : field.leaf
          ? writeLeaf(json, field.leaf.type, read(parent, field.leaf.property))
          : (writes[index]?.(json, at) ?? json.null())
      if (!written) {
        if (field.nullFault !== null) throw new GraphQLError(field.nullFault)
        if (field.omitted) {
          json.backTo(before)
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

export const read = (parent: unknown, property: string): unknown =>
  typeof parent === 'object' && parent !== null ? Reflect.get(parent, property) : undefined

export function writeLeaf(json: JsonWriter, type: LeafType, value: unknown): boolean {
  if (isNothing(value)) return json.null()
  if (!isListType(type)) return json.value(type.serialize(value))
  return json.value(Array.isArray(value) ? value.map(item => type.ofType.ofType.serialize(item)) : null)
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
