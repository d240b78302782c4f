/**
 * Writes the answer depth first, in the order of the document, from values that were resolved breadth first. Errors get
 * their path here, where it is known. The null of a failed field moves up to the nearest nullable position.
 */
import { type GraphQLError, type GraphQLLeafType, locatedError } from 'graphql'
import { inspect } from 'graphql/jsutils/inspect.js'
import type { LazyRow } from '../db/row/row-codec.ts'
import { BodyWriter, byte } from './body-buffers.ts'
import type { ColumnField, FieldPlan, ListPlan, ObjectPlan } from './field-plan.ts'

/** Stands for a value whose resolver failed. */
export class ResolverFailure {
  constructor(readonly error: unknown) {}
}

/** The answer while it is written. */
export class Answer {
  readonly body = new BodyWriter()
  readonly errors: GraphQLError[] = []
  /** The path of the current position. Entries beyond the current depth are left from earlier positions. */
  readonly path: (string | number)[] = []

  /** Records the error of a position. */
  fail(error: unknown, { nodes }: FieldPlan, depth: number): 'failed' {
    this.errors.push(locatedError(error, nodes, this.path.slice(0, depth + 1)))
    return 'failed'
  }

  failNull(field: FieldPlan, depth: number): 'failed' {
    const name = `${field.parentType.name}.${field.field.name}`
    return this.fail(new Error(`Cannot return null for non-nullable field ${name}.`), field, depth)
  }
}

/**
 * `null`: nothing was written. `failed`: the error is recorded, and the caller has to remove the bytes that were
 * written.
 */
type Outcome = 'written' | 'null' | 'failed'

/**
 * Writes one of the values that were resolved together.
 *
 * @param at the index of the value
 * @param field the field that has the value, directly or in a list
 * @param depth the index in the path at which the key or the index of the value stands
 */
export type Serialize = (answer: Answer, at: number, field: FieldPlan, depth: number) => Outcome

/** Returns whether the value is a null or an error. */
export const isMissing = (value: unknown): boolean =>
  value === null || value === undefined || value instanceof ResolverFailure || value instanceof Error

function writeMissing(answer: Answer, value: unknown, field: FieldPlan, depth: number): Outcome {
  if (value instanceof ResolverFailure) return answer.fail(value.error, field, depth)
  return value instanceof Error ? answer.fail(value, field, depth) : 'null'
}

/** Serializes the values of a scalar or an enum. */
export const serializeLeaves =
  (type: GraphQLLeafType, values: readonly unknown[]): Serialize =>
  (answer, at, field, depth) => {
    const value = values[at]
    if (isMissing(value)) return writeMissing(answer, value, field, depth)
    let serialized: unknown
    try {
      serialized = type.serialize(value)
    } catch (error) {
      return answer.fail(error, field, depth)
    }
    if (serialized === null || serialized === undefined) {
      const call = `${inspect(type)}.serialize(${inspect(value)})`
      const message = `Expected \`${call}\` to return non-nullable value, returned: ${inspect(serialized)}`
      return answer.fail(new Error(message), field, depth)
    }
    answer.body.value(serialized)
    return 'written'
  }

/**
 * Serializes lists.
 *
 * @param lists the resolved values, used only to detect a null or an error
 * @param ends for each list, the end of its items in the array of all items (exclusive)
 * @param serializeItem serializes one of all items
 */
export const serializeLists =
  (plan: ListPlan, lists: readonly unknown[], ends: readonly number[], serializeItem: Serialize): Serialize =>
  (answer, at, field, depth) => {
    if (isMissing(lists[at])) return writeMissing(answer, lists[at], field, depth)
    const { body, path } = answer
    const first = ends[at - 1] ?? 0
    const end = ends[at] ?? first
    body.byte(byte.openingBracket)
    for (let item = first; item < end; item++) {
      if (item > first) body.byte(byte.comma)
      path[depth + 1] = item - first
      const before = body.length
      const outcome = serializeItem(answer, item, field, depth + 1)
      if (outcome === 'written') continue
      if (plan.nonNullItems) return outcome === 'null' ? answer.failNull(field, depth + 1) : outcome
      body.backTo(before)
      body.null()
    }
    body.byte(byte.closingBracket)
    return 'written'
  }

/** The parents of a level, none of which is null or an error, and their fields. */
export interface Level {
  parents: readonly unknown[]
  /** The fields that are columns of the parents; null when the parents are not rows. */
  columns: readonly (ColumnField | null)[] | null
  /** The fields that are not columns. */
  fields: readonly (Serialize | null)[]
}

/**
 * Serializes objects.
 *
 * @param objects the resolved values, used only to detect a null or an error
 * @param places the index of each object in the level, which leaves out missing objects; null when none is missing
 */
export const serializeObjects =
  (plan: ObjectPlan, objects: readonly unknown[], places: readonly number[] | null, level: Level): Serialize =>
  (answer, at, field, depth) =>
    places && isMissing(objects[at])
      ? writeMissing(answer, objects[at], field, depth)
      : writeObject(answer, plan, level, places ? places[at]! : at, depth + 1)

/**
 * Writes one of the objects of a level.
 *
 * @param depth the index in the path of an error at which the keys of the object's fields stand
 */
export function writeObject(
  answer: Answer,
  plan: ObjectPlan,
  level: Level,
  place: number,
  depth: number,
): 'written' | 'failed' {
  const { body, path } = answer
  const { columns, fields } = level
  // When the level has columns, all its parents are rows.
  const row = level.parents[place] as LazyRow
  const start = body.length
  for (let index = 0; index < plan.fields.length; index++) {
    if (columns?.[index]) {
      index = body.columns(row, columns, index)
      if (index === plan.fields.length) break
    }
    const field = plan.fields[index]!
    const before = body.length
    body.text(field.prefix)
    if (field.source.kind === 'typename') continue
    path[depth] = field.key
    // Only a column has no writer. It comes here when it is non-null and its value is null.
    const outcome = fields[index]?.(answer, place, field, depth) ?? 'null'
    if (outcome === 'written') continue
    if (field.nonNull) return outcome === 'null' ? answer.failNull(field, depth) : outcome
    body.backTo(before)
    if (field.omitNull) continue
    body.text(field.prefix)
    body.null()
  }
  body.closeObject(start)
  return 'written'
}
