/**
 * Resolves all fields breadth first: each field is resolved for all parents of a level together, across lists. The
 * error of a resolver becomes a `ResolverFailure` in place of its value; a failing resolver never makes this code
 * throw.
 */
import { GraphQLError, type GraphQLResolveInfo, locatedError } from 'graphql'
import { allMaybePromise, mapMaybePromise } from '../async/maybe-promise.ts'
import { LazyRow } from '../db/row/row-codec.ts'
import type { FieldPlan, ListPlan, ObjectPlan, ValuePlan } from './field-plan.ts'
import {
  isMissing,
  type Level,
  ResolverFailure,
  type Serialize,
  serializeLeaves,
  serializeLists,
  serializeObjects,
} from './serialize.ts'

type MaybePromise<Value> = Value | Promise<Value>
type Path = GraphQLResolveInfo['path']

/** The state that the resolvers of one request share. */
export interface Run {
  context: unknown
  variables: Record<string, unknown>
  /** The parts of `info` that are the same for all fields. */
  shared: Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'rootValue' | 'operation'>
}

/**
 * The field whose values are resolved together, and a function that returns the path of each value. Only resolvers use
 * the path.
 */
interface FieldPosition {
  run: Run
  field: FieldPlan
  pathOf: (at: number) => Path
}

const toFailure = (error: unknown) => new ResolverFailure(error)

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/**
 * Calls a function for each item, and returns the awaited results. A call that throws or rejects has a
 * `ResolverFailure` as its result.
 */
function callForEach(items: readonly unknown[], call: (item: unknown, at: number) => unknown): MaybePromise<unknown[]> {
  let pending = false
  const values = items.map((item, at) => {
    try {
      const value = call(item, at)
      if (!isPromise(value)) return value
      pending = true
      return Promise.resolve(value).then(undefined, toFailure)
    } catch (error) {
      return new ResolverFailure(error)
    }
  })
  if (!pending) return values
  // `Promise.all` takes several times as long as one promise.
  return values.length === 1 ? Promise.resolve(values[0]).then(value => [value]) : Promise.all(values)
}

const createInfo = ({ field: { nodes, field, parentType }, run }: FieldPosition, path: Path): GraphQLResolveInfo => ({
  fieldName: field.name,
  fieldNodes: nodes,
  returnType: field.type,
  parentType,
  path,
  variableValues: run.variables,
  ...run.shared,
})

/**
 * Calls the subscriber of the root field of a subscription (GraphQL, §6.2.3.1).
 *
 * @returns the events. Each event is the root value of one run
 * @throws a located error
 */
export async function subscribeTo(field: FieldPlan, run: Run): Promise<AsyncIterator<unknown>> {
  const { key, nodes, parentType, readArguments } = field
  const path = { prev: undefined, key, typename: parentType.name }
  try {
    const { subscribe } = field.field
    const info = createInfo({ field, run, pathOf: () => path }, path)
    const events: unknown = await subscribe?.(undefined, readArguments(run.variables), run.context, info)
    if (typeof events === 'object' && events !== null && isAsyncIterable(events)) return events[Symbol.asyncIterator]()
    throw new Error(`${parentType.name}.${field.field.name} has no events.`)
  } catch (error) {
    throw locatedError(error, nodes, [key])
  }
}

const isAsyncIterable = (value: object): value is AsyncIterable<unknown> => Symbol.asyncIterator in value

/** Returns the value of the field for each of its parents, or a `ResolverFailure`. */
function valuesOf(parents: readonly unknown[], position: FieldPosition): MaybePromise<readonly unknown[]> {
  const { field, run, pathOf } = position
  const { source } = field
  const info = (at: number) => createInfo(position, pathOf(at))
  switch (source.kind) {
    case 'typename':
      return []
    case 'property':
      return callForEach(parents, parent => (parent as Record<string, unknown>)[source.name])
    case 'default':
      return callForEach(parents, (parent, at) => {
        if ((typeof parent !== 'object' && typeof parent !== 'function') || parent === null) return undefined
        const value: unknown = Reflect.get(parent, source.name)
        return typeof value === 'function' ? value.call(parent, {}, run.context, info(at)) : value
      })
    case 'batch': {
      const batch = callForEach([parents], all => source.resolveBatch(all as readonly never[], run.context as never))
      return mapMaybePromise(batch, ([values]) => (Array.isArray(values) ? values : parents.map(() => values)))
    }
    case 'resolver': {
      let args: Record<string, unknown>
      try {
        args = field.readArguments(run.variables)
      } catch (error) {
        return parents.map(() => new ResolverFailure(error))
      }
      return callForEach(parents, (parent, at) => source.resolve(parent, args, run.context, info(at)))
    }
  }
}

function resolveValues(plan: ValuePlan, values: readonly unknown[], position: FieldPosition): MaybePromise<Serialize> {
  if (plan.kind === 'leaf') return serializeLeaves(plan.type, values)
  return plan.kind === 'list' ? resolveLists(plan, values, position) : resolveObjects(plan, values, position)
}

/** Returns the items of a value. Throws when the value is not iterable; errors of its iterator are passed on. */
function itemsOf(list: unknown, { parentType, field }: FieldPlan): readonly unknown[] {
  if (Array.isArray(list)) return list
  if (typeof list !== 'object' || list === null || !(Symbol.iterator in list)) {
    throw new GraphQLError(`Expected Iterable, but did not find one for field "${parentType.name}.${field.name}".`)
  }
  const items: unknown[] = []
  try {
    for (const item of list as Iterable<unknown>) items.push(item)
  } catch (error) {
    // Like graphql-js, drops the items that came before the error, and handles the rejections of their promises.
    for (const item of items) if (isPromise(item)) item.then(undefined, toFailure)
    throw error
  }
  return items
}

function resolveLists(plan: ListPlan, values: readonly unknown[], position: FieldPosition): MaybePromise<Serialize> {
  const { pathOf, field } = position
  const items: unknown[] = []
  /** The index of the list to which each item belongs. */
  const owners: number[] = []
  const ends: number[] = []
  const lists = values.map((list, at) => {
    try {
      if (!isMissing(list)) {
        for (const item of itemsOf(list, field)) {
          items.push(item)
          owners.push(at)
        }
      }
      return list
    } catch (error) {
      return new ResolverFailure(error)
    } finally {
      ends.push(items.length)
    }
  })
  const pathOfItem = (item: number): Path => {
    const at = owners[item]!
    return { prev: pathOf(at), key: item - (ends[at - 1] ?? 0), typename: undefined }
  }
  return mapMaybePromise(items.some(isPromise) ? callForEach(items, item => item) : items, ready =>
    mapMaybePromise(resolveValues(plan.item, ready, { ...position, pathOf: pathOfItem }), serializeItem =>
      serializeLists(plan, lists, ends, serializeItem),
    ),
  )
}

function resolveObjects(
  plan: ObjectPlan,
  values: readonly unknown[],
  position: FieldPosition,
): MaybePromise<Serialize> {
  const { run, pathOf } = position
  const present: number[] = []
  const places = values.some(isMissing)
    ? values.map((value, at) => (isMissing(value) ? -1 : present.push(at) - 1))
    : null
  const parents = places ? present.map(at => values[at]) : values
  return mapMaybePromise(
    resolveLevel(plan, parents, run, place => pathOf(places ? present[place]! : place)),
    level => serializeObjects(plan, values, places, level),
  )
}

/**
 * Resolves the fields of a level.
 *
 * @param parents the parents, none of which is null or an error
 * @param pathOf the path of each parent
 */
export function resolveLevel(
  plan: ObjectPlan,
  parents: readonly unknown[],
  run: Run,
  pathOf: (at: number) => Path | undefined,
): MaybePromise<Level> {
  // Without parents there is nothing to read.
  if (parents.length === 0) return { parents, columns: null, fields: [] }
  const columns = columnsOf(plan, parents)
  const steps = plan.fields.map((field, index) => (columns?.[index] ? null : resolveField(field, parents, run, pathOf)))
  return mapMaybePromise(
    allMaybePromise(steps, step => step),
    fields => ({ parents, columns, fields }),
  )
}

function resolveField(
  field: FieldPlan,
  parents: readonly unknown[],
  run: Run,
  pathOf: (at: number) => Path | undefined,
): MaybePromise<Serialize> {
  const typename = field.parentType.name
  const position: FieldPosition = { run, field, pathOf: at => ({ prev: pathOf(at), key: field.key, typename }) }
  return mapMaybePromise(valuesOf(parents, position), values => resolveValues(field.value, values, position))
}

/** Returns the columns of the fields when all parents are rows with the same layout, and otherwise null. */
function columnsOf(plan: ObjectPlan, parents: readonly unknown[]): Level['columns'] {
  const [first] = parents
  if (!(first instanceof LazyRow)) return null
  const { layout } = first
  const areAlike = parents.every(parent => parent instanceof LazyRow && parent.layout === layout)
  return areAlike ? plan.columnsOf(layout) : null
}
