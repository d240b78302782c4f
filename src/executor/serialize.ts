/**
 * Writes the answer depth first, in the order of the document, from what was resolved breadth first. An error is located
 * here, because the path is known here, and a null goes up to the nearest nullable position.
 */
import { type GraphQLError, locatedError } from 'graphql'
import { inspect } from 'graphql/jsutils/inspect.js'
import type { LazyRow } from '../db/row-codec.ts'
import { BodyWriter, byte } from './body-buffers.ts'
import type { Column, FieldPlan, LeafPlan, ListPlan, ObjectPlan } from './field-plan.ts'

/** Stands for a value whose resolver failed. */
export class Failure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/**
 * What writing a value comes to. `null`: it is null, and nothing is written. `failed`: its error is recorded, and what is
 * written of it has to be removed.
 */
export type Outcome = 'written' | 'null' | 'failed'

/** The answer while it is written. */
export class Answer {
  readonly body = new BodyWriter()
  readonly errors: GraphQLError[] = []
  /** The path of the position that is written. What lies deeper may stand behind it. */
  readonly path: (string | number)[] = []

  /** Records the error of a position. */
  fail(error: unknown, field: FieldPlan, depth: number): 'failed' {
    this.errors.push(locatedError(error, field.nodes, this.path.slice(0, depth + 1)))
    return 'failed'
  }

  /** Records that a position is null that may not be. */
  failNull(field: FieldPlan, depth: number): 'failed' {
    const name = `${field.parentType.name}.${field.field.name}`
    return this.fail(new Error(`Cannot return null for non-nullable field ${name}.`), field, depth)
  }
}

/** The resolved values of one type, for all their parents. */
export interface ResolvedValues {
  /**
   * Writes one of them.
   *
   * @param field the field that the value is of, directly or as the item of a list
   * @param depth the index of the value's key or index in its path
   */
  write(answer: Answer, at: number, field: FieldPlan, depth: number): Outcome
}

/** @returns whether there is no value to go on with: a null, or an error */
export const isMissing = (value: unknown): boolean =>
  value === null || value === undefined || value instanceof Failure || value instanceof Error

function writeMissing(answer: Answer, value: unknown, field: FieldPlan, depth: number): Outcome {
  if (value instanceof Failure) return answer.fail(value.error, field, depth)
  return value instanceof Error ? answer.fail(value, field, depth) : 'null'
}

/** Values of a scalar or an enum. */
export class ResolvedLeaves implements ResolvedValues {
  readonly #plan: LeafPlan
  readonly #values: readonly unknown[]

  constructor(plan: LeafPlan, values: readonly unknown[]) {
    this.#plan = plan
    this.#values = values
  }

  write(answer: Answer, at: number, field: FieldPlan, depth: number): Outcome {
    const value = this.#values[at]
    if (isMissing(value)) return writeMissing(answer, value, field, depth)
    const { type } = this.#plan
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
}

/** Lists, whose items were resolved together. */
export class ResolvedLists implements ResolvedValues {
  readonly #plan: ListPlan
  readonly #lists: readonly unknown[]
  readonly #bounds: readonly number[]
  readonly #items: ResolvedValues

  /**
   * @param lists what was resolved: looked at again only where there is no list
   * @param bounds for each list where its items begin and end among all items; -1 when there is no list
   */
  constructor(plan: ListPlan, lists: readonly unknown[], bounds: readonly number[], items: ResolvedValues) {
    this.#plan = plan
    this.#lists = lists
    this.#bounds = bounds
    this.#items = items
  }

  write(answer: Answer, at: number, field: FieldPlan, depth: number): Outcome {
    const { body, path } = answer
    const first = this.#bounds[2 * at]!
    const end = this.#bounds[2 * at + 1]!
    if (first === -1) return writeMissing(answer, this.#lists[at], field, depth)
    body.byte(byte.openingBracket)
    for (let item = first; item < end; item++) {
      if (item > first) body.byte(byte.comma)
      path[depth + 1] = item - first
      const before = body.length
      const outcome = this.#items.write(answer, item, field, depth + 1)
      if (outcome === 'written') continue
      if (this.#plan.nonNullItems) return outcome === 'null' ? answer.failNull(field, depth + 1) : outcome
      body.backTo(before)
      body.null()
    }
    body.byte(byte.closingBracket)
    return 'written'
  }
}

/** The parents of a level, none of which is missing, and their fields. */
export interface Level {
  parents: readonly unknown[]
  /** Which of the fields are columns of the parents; null: the parents are no rows. */
  columns: readonly (Column | null)[] | null
  /** The values of the other fields. */
  values: readonly (ResolvedValues | null)[]
}

/** Objects, whose fields were resolved together. */
export class ResolvedObjects implements ResolvedValues {
  readonly #plan: ObjectPlan
  readonly #objects: readonly unknown[]
  readonly #places: readonly number[] | null
  readonly #level: Level

  /**
   * @param objects what was resolved: looked at again only where there is no object
   * @param places where each of them is in the level; -1 when there is no object; null: none is missing
   */
  constructor(plan: ObjectPlan, objects: readonly unknown[], places: readonly number[] | null, level: Level) {
    this.#plan = plan
    this.#objects = objects
    this.#places = places
    this.#level = level
  }

  write(answer: Answer, at: number, field: FieldPlan, depth: number): Outcome {
    const place = this.#places === null ? at : this.#places[at]!
    if (place === -1) return writeMissing(answer, this.#objects[at], field, depth)
    return writeObject(answer, this.#plan, this.#level, place)
  }
}

/** Writes one of the objects of a level. @returns `written` or `failed` */
export function writeObject(
  answer: Answer,
  { fields }: ObjectPlan,
  { parents, columns, values }: Level,
  place: number,
): Outcome {
  const { body, path } = answer
  // Where there are columns, all parents are rows.
  const row = columns && (parents[place] as LazyRow)
  const start = body.length
  for (let index = 0; index < fields.length; index++) {
    if (columns?.[index]) {
      index = body.columns(row as LazyRow, columns, index)
      if (index === fields.length) break
    }
    const field = fields[index]!
    const before = body.length
    body.text(field.prefix)
    if (field.source.kind === 'typename') continue
    path[field.depth] = field.key
    // A column stands here when it is null and may not be.
    const outcome = values[index]?.write(answer, place, field, field.depth) ?? 'null'
    if (outcome === 'written') continue
    if (field.nonNull) return outcome === 'null' ? answer.failNull(field, field.depth) : outcome
    body.backTo(before)
    if (field.omitNull) continue
    body.text(field.prefix)
    body.null()
  }
  body.closeObject(start)
  return 'written'
}
