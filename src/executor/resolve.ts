/**
 * Gets the values of all fields, breadth first: all parents of a level together, whichever lists they stand in. A value
 * that cannot be had becomes a `Failure` at its place; nothing here throws because of a resolver.
 */
import { GraphQLError, type GraphQLResolveInfo } from 'graphql'
import { inspect } from 'graphql/jsutils/inspect.js'
import { LazyRow } from '../db/row-codec.ts'
import { allMaybePromise, mapMaybePromise } from '../domain/maybe-promise.ts'
import type { Column, FieldPlan, ListPlan, ObjectPlan, Run, ValuePlan } from './field-plan.ts'
import {
  Failure,
  isMissing,
  type Level,
  ResolvedLeaves,
  ResolvedLists,
  ResolvedObjects,
  type ResolvedValues,
} from './serialize.ts'

type MaybePromise<Value> = Value | Promise<Value>
type Path = GraphQLResolveInfo['path']

/** Gives the path of a value of a level: only resolvers ask for it. */
type PathOf = (at: number) => Path | undefined

const toFailure = (error: unknown) => new Failure(error)

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/**
 * Calls something for each item.
 *
 * @returns for each what the call returned, or what the promise that it returned gave; a `Failure` where it failed
 */
function callForEach(items: readonly unknown[], call: (item: unknown, at: number) => unknown): MaybePromise<unknown[]> {
  const values = new Array<unknown>(items.length)
  let pending = false
  for (let at = 0; at < items.length; at++) {
    try {
      const value = call(items[at], at)
      const later = isPromise(value)
      if (later) pending = true
      values[at] = later ? Promise.resolve(value).then(undefined, toFailure) : value
    } catch (error) {
      values[at] = new Failure(error)
    }
  }
  if (!pending) return values
  // Promise.all costs several times what one promise does.
  return values.length === 1 ? Promise.resolve(values[0]).then(value => [value]) : Promise.all(values)
}

const infoOf = ({ nodes, field, parentType }: FieldPlan, run: Run, path: Path): GraphQLResolveInfo => ({
  fieldName: field.name,
  fieldNodes: nodes,
  returnType: field.type,
  parentType,
  path,
  schema: run.shared.schema,
  fragments: run.shared.fragments,
  rootValue: run.shared.rootValue,
  operation: run.shared.operation,
  variableValues: run.variables,
})

/** @returns the value of a field for each of its parents, or a `Failure` */
function valuesOf(
  field: FieldPlan,
  parents: readonly unknown[],
  run: Run,
  pathOf: (at: number) => Path,
): MaybePromise<readonly unknown[]> {
  const { source } = field
  const { context } = run
  switch (source.kind) {
    case 'typename':
      return []
    case 'property':
      return callForEach(parents, parent => (parent as Record<string, unknown>)[source.name])
    case 'default':
      return callForEach(parents, (parent, at) => {
        if ((typeof parent !== 'object' && typeof parent !== 'function') || parent === null) return undefined
        const value: unknown = Reflect.get(parent, source.name)
        return typeof value === 'function' ? value.call(parent, {}, context, infoOf(field, run, pathOf(at))) : value
      })
    case 'batch':
      return callBatch(() => source.resolveBatch(parents as readonly never[], context as never), parents.length)
    case 'resolver': {
      const { resolve } = source
      let args: Record<string, unknown>
      try {
        args = field.readArguments(run.variables)
      } catch (error) {
        return parents.map(() => new Failure(error))
      }
      return callForEach(parents, (parent, at) => resolve(parent, args, context, infoOf(field, run, pathOf(at))))
    }
  }
}

async function callBatch(call: () => Promise<readonly unknown[]>, length: number): Promise<readonly unknown[]> {
  try {
    return await call()
  } catch (error) {
    return Array<unknown>(length).fill(new Failure(error))
  }
}

/** @param pathOf the path of each parent */
export function resolveField(
  field: FieldPlan,
  parents: readonly unknown[],
  run: Run,
  pathOf: PathOf,
): MaybePromise<ResolvedValues> {
  const pathOfField = (at: number): Path => ({ prev: pathOf(at), key: field.key, typename: field.parentType.name })
  return mapMaybePromise(valuesOf(field, parents, run, pathOfField), values =>
    resolveValues(field.value, values, field, run, pathOfField),
  )
}

function resolveValues(
  plan: ValuePlan,
  values: readonly unknown[],
  field: FieldPlan,
  run: Run,
  pathOf: PathOf,
): MaybePromise<ResolvedValues> {
  switch (plan.kind) {
    case 'leaf':
      return new ResolvedLeaves(plan, values)
    case 'list':
      return resolveLists(plan, values, field, run, pathOf)
    case 'object':
      return resolveObjects(plan, values, field, run, pathOf)
  }
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.iterator in value &&
  typeof value[Symbol.iterator] === 'function'

/** Resolves the items of all lists together. */
function resolveLists(
  plan: ListPlan,
  values: readonly unknown[],
  field: FieldPlan,
  run: Run,
  pathOf: PathOf,
): MaybePromise<ResolvedValues> {
  const items: unknown[] = []
  const lists = [...values]
  const bounds: number[] = []
  for (const [at, list] of lists.entries()) {
    const first = items.length
    try {
      if (isIterable(list) && !isMissing(list)) for (const item of list) items.push(item)
      else if (isMissing(list)) lists[at] = list
      else throw new GraphQLError(notIterable(field))
    } catch (error) {
      // The items before the error are dropped, and those that reject are handled, as graphql-js does.
      for (const item of items.splice(first)) if (isPromise(item)) item.then(undefined, () => {})
      lists[at] = new Failure(error)
    }
    const isThere = !isMissing(lists[at])
    bounds.push(isThere ? first : -1, isThere ? items.length : -1)
  }
  const pathOfItem = (item: number): Path => {
    let at = 0
    while (bounds[2 * at]! === -1 || bounds[2 * at + 1]! <= item) at++
    return { prev: pathOf(at), key: item - bounds[2 * at]!, typename: undefined }
  }
  return mapMaybePromise(items.some(isPromise) ? callForEach(items, item => item) : items, ready =>
    mapMaybePromise(
      resolveValues(plan.item, ready, field, run, pathOfItem),
      resolved => new ResolvedLists(plan, lists, bounds, resolved),
    ),
  )
}

const notIterable = ({ parentType, field }: FieldPlan) =>
  `Expected Iterable, but did not find one for field "${parentType.name}.${field.name}".`

function resolveObjects(
  plan: ObjectPlan,
  values: readonly unknown[],
  field: FieldPlan,
  run: Run,
  pathOf: PathOf,
): MaybePromise<ResolvedValues> {
  return mapMaybePromise(checkType(plan, values, field, run, pathOf), objects => {
    if (!objects.some(isMissing)) {
      return mapMaybePromise(
        resolveLevel(plan, objects, run, pathOf),
        level => new ResolvedObjects(plan, objects, null, level),
      )
    }
    const present: number[] = []
    const places = objects.map((object, at) => (isMissing(object) ? -1 : present.push(at) - 1))
    const parents = present.map(at => objects[at])
    return mapMaybePromise(
      resolveLevel(plan, parents, run, place => pathOf(present[place]!)),
      level => new ResolvedObjects(plan, objects, places, level),
    )
  })
}

/** @returns the objects, with a `Failure` instead of each that is not of the type */
function checkType(
  { type }: ObjectPlan,
  values: readonly unknown[],
  field: FieldPlan,
  run: Run,
  pathOf: PathOf,
): MaybePromise<readonly unknown[]> {
  if (!type.isTypeOf) return values
  const check = (value: unknown, is: boolean) => {
    if (is) return value
    throw new GraphQLError(`Expected value of type "${type.name}" but got: ${inspect(value)}.`, { nodes: field.nodes })
  }
  return callForEach(values, (value, at) => {
    if (isMissing(value)) return value
    // graphql-js gives the path of the field, without the indexes of lists.
    let path = pathOf(at)
    while (path?.prev && typeof path.key === 'number') path = path.prev
    const is = type.isTypeOf?.(value, run.context, infoOf(field, run, path!)) ?? true
    return isPromise(is) ? is.then(later => check(value, later)) : check(value, is)
  })
}

/** @param parents none of which is missing */
export function resolveLevel(
  plan: ObjectPlan,
  parents: readonly unknown[],
  run: Run,
  pathOf: PathOf,
): MaybePromise<Level> {
  // Without parents nothing is to be read.
  if (parents.length === 0) return { parents, columns: null, values: [] }
  const columns = columnsOf(plan, parents)
  const fields = plan.fields.map((field, index) => ({ field, column: columns?.[index] }))
  return mapMaybePromise(
    allMaybePromise(fields, ({ field, column }) => (column ? null : resolveField(field, parents, run, pathOf))),
    values => ({ parents, columns, values }),
  )
}

/** @returns where the fields are, when the parents are rows of one layout */
function columnsOf(plan: ObjectPlan, parents: readonly unknown[]): readonly (Column | null)[] | null {
  const [first] = parents
  if (!(first instanceof LazyRow)) return null
  const { layout } = first
  const areAlike = parents.every(parent => parent instanceof LazyRow && parent.layout === layout)
  return areAlike ? plan.columnsOf(layout) : null
}
