/** A schema with fields of all types and all sources. A seed decides the behaviour of its resolvers. */
import {
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLError,
  type GraphQLFieldConfigMap,
  type GraphQLFieldResolver,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
} from 'graphql'
import { nullable, type RowOf } from '../../src/db/row/column.ts'
import { createRowCodec } from '../../src/db/row/row-codec.ts'
import { markDirectResolver, offerBatch, offerColumn } from '../../src/graphql/direct-resolver.ts'

export interface World {
  seed: number
  /** The share of positions at which a resolver fails, in per cent. */
  trouble: number
}

/**
 * Returns a whole number that depends only on the seed and the text, so that the behaviour at a position is always the
 * same.
 */
function hashText({ seed }: World, text: string): number {
  let hash = seed ^ 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return (hash ^ (hash >>> 15)) >>> 0
}

const pick = <Item>(items: readonly Item[], draw: number): Item => items[draw % items.length]!

const Color = new GraphQLEnumType({ name: 'Color', values: { RED: { value: 1 }, BLUE: { value: 'blue' }, OLD: {} } })

/** A scalar that serializes some values, and fails for other values. */
const OddScalar = new GraphQLScalarType({
  name: 'Odd',
  serialize(value) {
    if (value === 'throw') throw new Error('Odd cannot be serialized.')
    if (value === 'throw text') throw 'not an error'
    return value === 'null' ? null : value === 'undefined' ? undefined : value
  },
})

/** Defines a scalar that serializes each value to itself. */
const createIdentityScalar = (name: string) => new GraphQLScalarType({ name, serialize: value => value })

const [BigNumber, Money, DateTime, CalendarDate] = [
  createIdentityScalar('BigInt'),
  createIdentityScalar('Money'),
  createIdentityScalar('DateTime'),
  createIdentityScalar('Date'),
]

const Input = new GraphQLInputObjectType({
  name: 'Input',
  fields: {
    n: { type: GraphQLInt, defaultValue: 7 },
    color: { type: Color },
    list: { type: new GraphQLList(new GraphQLNonNull(GraphQLInt)) },
  },
})

export const argumentValues: Record<string, unknown[]> = {
  Int: [0, 1, -5, 2147483647, 'not a number'],
  String: ['', 'x', 'ü'],
  Color: ['RED', 'BLUE'],
  Boolean: [true, false],
  Input: [{}, { n: 1 }, { color: 'RED', list: [1, 2] }, { list: 3 }, { n: null }],
}

/** For each leaf type, values that it can serialize. */
const goodLeaves: Record<string, readonly unknown[]> = {
  Int: [0, -1, 2147483647, '42', true],
  Float: [0, -0, 0.1, 1e21, '3'],
  String: ['', 'a "b" \\ \n\u2028', '😀', 5, true, 'ü'.repeat(50)],
  Boolean: [true, false, 0, 1],
  ID: ['a', 'ü"', 7],
  Color: [1, 'blue', 'OLD'],
  Odd: [0, 'x', { a: [1, { b: null }] }, [null], '', false],
}

/** For each leaf type, values for which its serialization fails. */
const badLeaves: Record<string, readonly unknown[]> = {
  Int: [1.5, 'x', 2147483648, {}, Number.NaN],
  Float: [Number.POSITIVE_INFINITY, 'x', []],
  String: [{}, [], Symbol('s')],
  Boolean: ['x', {}, Number.NaN],
  ID: [1.5, {}, true],
  Color: ['RED', 2, {}],
  Odd: ['throw', 'throw text', 'null', 'undefined'],
}

/** The value of an object of the type `A` or, as `ThingB`, of the type `B`. */
class Thing {
  constructor(
    readonly world: World,
    readonly id: string,
  ) {}
}
class ThingB extends Thing {}

/**
 * The columns of the first layout. The second layout has the same properties in another order, and some with another
 * kind of column.
 */
const columns = {
  i: nullable('i', 'integer'),
  d: nullable('d', 'decimal'),
  b: nullable('b', 'boolean'),
  t: nullable('t', 'text'),
  at: nullable('at', 'instant'),
  day: nullable('day', 'date'),
  j: nullable('j', 'textArray'),
}
type Row = RowOf<typeof columns>
const { j, t, at, b, d } = columns
const layouts = [columns, { j, t, i: nullable('i', 'bigint'), day: nullable('day', 'text'), at, b, d }].map(layout => {
  return { codec: createRowCodec<Row>(layout), names: Object.keys(layout) }
})

/** For each column, texts that PostgreSQL can write in a record. */
const columnTexts: Record<string, readonly string[]> = {
  i: ['0', '-7', '2147483647'],
  d: ['25.00', '0.070', '12', '-3.10', '999999999999.999'],
  b: ['t', 'f'],
  t: ['blue', '""', '"a ""b"" \\\\ c"', '"line\nbreak"', '\u0001', '"ü, (😀)"'],
  at: ['"2026-01-02 03:04:05+00"', '"2026-01-02 03:04:05.12+00"', '"0001-01-01 00:00:00.000001+00"'],
  day: ['2026-01-31'],
  j: ['[]', '"[""a"",""ü\\\\""x""]"'],
}

function createRecordText(world: World, id: string, names: readonly string[]): Buffer {
  const texts = names.map(name => {
    const draw = hashText(world, `${id}.${name}`)
    return draw % 5 === 0 ? '' : pick(columnTexts[name]!, draw >>> 4)
  })
  return Buffer.from(`(${texts.join(',')})`)
}

function rowsOf(world: World, ids: readonly string[]): unknown[] {
  const { codec, names } = pick(layouts, hashText(world, `layout of ${ids[0]}`))
  return codec.read(Buffer.concat(ids.map(id => createRecordText(world, id, names))))
}

/** Returns a value that fits the type, but whose fields may fail. */
function createGoodValue(world: World, type: GraphQLOutputType, id: string): unknown {
  const draw = hashText(world, `value ${id}`)
  const nullable = getNullableType(type)
  if (isListType(nullable)) return createList(world, nullable, id, draw)
  if (isLeafType(nullable)) return pick(goodLeaves[nullable.name]!, draw)
  if (isObjectType(nullable) && nullable.name === 'Row') {
    const [row] = rowsOf(world, [id])
    return draw % 4 === 0 ? { i: draw, t: 'plain', b: 'x', j: ['a', null] } : row
  }
  return isObjectType(nullable) && nullable.name === 'B' ? new ThingB(world, id) : new Thing(world, id)
}

function createList(world: World, type: GraphQLList<GraphQLOutputType>, id: string, draw: number): unknown {
  const ids = Array.from({ length: draw % 4 }, (_, index) => `${id}/${index}`)
  const item = getNullableType(type.ofType)
  if (isObjectType(item) && item.name === 'Row' && ids.length > 0 && draw % 3 > 0) return rowsOf(world, ids)
  const items = ids.map(itemId => createItem(world, type.ofType, itemId))
  return (draw >>> 8) % 8 === 0 ? new Set(items) : items
}

/** Returns an item of a list. An item cannot throw, so an error becomes a rejected promise. */
function createItem(world: World, type: GraphQLOutputType, id: string): unknown {
  try {
    return returnOrThrow(world, type, id)
  } catch (error) {
    const rejected = Promise.reject(error)
    // A list that fails as a whole ignores its items, so nothing else may handle this rejection.
    rejected.catch(() => {})
    return rejected
  }
}

/** Returns or throws the result of a resolver at a position. */
function returnOrThrow(world: World, type: GraphQLOutputType, id: string): unknown {
  const draw = hashText(world, id)
  if (draw % 100 >= world.trouble) {
    const value = createGoodValue(world, type, id)
    return (draw >>> 8) % 8 === 0 ? Promise.resolve(value) : value
  }
  const error = new Error(`${id} failed.`)
  const fail = (thrown: unknown) => {
    throw thrown
  }
  const wrong = () => createWrongValue(type, draw >>> 12)
  const gone = new GraphQLError(`${id} is not there.`, { extensions: { code: 'GONE' } })
  const ways = [
    ...[() => fail(error), () => Promise.reject(error), () => error, () => Promise.resolve(error)],
    ...[() => fail(gone), () => fail('a text'), () => Promise.resolve(null), () => undefined],
    ...[wrong, wrong, () => Promise.resolve(wrong()), () => null, () => null, () => null],
  ]
  return pick<() => unknown>(ways, draw >>> 8)()
}

function createWrongValue(type: GraphQLOutputType, draw: number): unknown {
  const nullable = getNullableType(type)
  if (isLeafType(nullable)) return pick(badLeaves[nullable.name]!, draw)
  if (!isListType(nullable)) return pick<unknown>([5, 'text', true, () => 1, [], new Date(0)], draw)
  return pick<unknown>(['text', 5, {}, { length: 1 }, [undefined, null], new Error('No list.')], draw)
}

const idOf = (parent: unknown) => (parent instanceof Thing ? parent.id : '')

const createResolver =
  (type: GraphQLOutputType): GraphQLFieldResolver<unknown, World> =>
  (parent, _args, world, info) =>
    returnOrThrow(world, type, `${idOf(parent)}.${info.fieldName}`)

/**
 * Returns a resolver that the executor may replace by one call for all parents. When the call fails, the field fails
 * for all parents.
 */
function createBatchResolver(name: string, type: GraphQLOutputType): GraphQLFieldResolver<unknown, World> {
  const one = (parent: unknown, world: World) => {
    const id = `${idOf(parent)}.${name}`
    const draw = hashText(world, id)
    if (draw % 100 >= world.trouble) return createGoodValue(world, type, id)
    return pick<unknown>([null, undefined, createWrongValue(type, draw >>> 8), new Error(`${id} failed.`)], draw >>> 8)
  }
  const failAll = (world: World) => {
    if (hashText(world, `all ${name}`) % 400 < world.trouble) throw new Error(`All ${name} failed.`)
  }
  const resolve: GraphQLFieldResolver<unknown, World> = async (parent, _args, world) => {
    failAll(world)
    return one(parent, world)
  }
  offerBatch(resolve, async (parents: readonly never[], context: never) => {
    failAll(context)
    return parents.map(parent => one(parent, context))
  })
  markDirectResolver(resolve, null)
  return resolve
}

function createPropertyResolver(property: string): GraphQLFieldResolver<unknown, World> {
  const resolve: GraphQLFieldResolver<unknown, World> = parent => Reflect.get(Object(parent), property)
  markDirectResolver(resolve, property)
  return resolve
}

/** Returns a resolver that the executor may replace by the column of a parent that is a row. */
function createColumnResolver(property: string): GraphQLFieldResolver<unknown, World> {
  const resolve = createPropertyResolver(property)
  offerColumn(resolve, property)
  markDirectResolver(resolve, null)
  return resolve
}

/**
 * Defines a property whose value the seed decides. Some properties are methods that return the value when called as a
 * resolver.
 */
function defineProperty(prototype: object, name: string, type: GraphQLOutputType, mayBeMethod: boolean): void {
  Object.defineProperty(prototype, name, {
    get(this: Thing) {
      const { world, id } = this
      const run = () => returnOrThrow(world, type, `${id}.${name}`)
      if (!mayBeMethod || hashText(world, `form ${id}.${name}`) % 3 > 0) return run()
      return (args: object, context: World, info: GraphQLResolveInfo) =>
        context === world && info.fieldName === name && Object.keys(args).length === 0 ? run() : 'a wrong call'
    },
  })
}

const shapes: readonly ((type: GraphQLOutputType) => GraphQLOutputType)[] = [
  type => type,
  type => type,
  type => new GraphQLNonNull(type),
  type => new GraphQLList(type),
  type => new GraphQLList(new GraphQLNonNull(type)),
  type => new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(type))),
  type => new GraphQLList(new GraphQLList(type)),
  type => new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(type))))),
]

/** Returns fields of each type in each shape. Each field gets its value from one of the sources. */
function createFields(prototype: object | null): GraphQLFieldConfigMap<unknown, World> {
  const fields: GraphQLFieldConfigMap<unknown, World> = {}
  let count = 0
  const leaves = [GraphQLInt, GraphQLFloat, GraphQLString, GraphQLBoolean, GraphQLID, Color, OddScalar]
  const types: GraphQLOutputType[] = [...leaves, A, A, B, B, RowType, RowType]
  for (const [place, named] of types.entries()) {
    for (const [index, shape] of shapes.entries()) {
      const type = shape(named as GraphQLObjectType)
      const name = `f${place}_${index}`
      const source = prototype ? pick(['resolver', 'default', 'batch', 'exposed', 'default'], count++) : 'resolver'
      if (source === 'resolver') fields[name] = { type, resolve: createResolver(type) }
      else if (source === 'batch') fields[name] = { type, resolve: createBatchResolver(name, type) }
      else if (source === 'default') {
        defineProperty(prototype!, name, type, true)
        fields[name] = { type }
      } else {
        defineProperty(prototype!, `p${name}`, type, false)
        fields[name] = { type, resolve: createPropertyResolver(`p${name}`) }
      }
    }
  }
  // The field exists several times, so that documents often select it below lists.
  for (let copy = 0; copy < 8; copy++) fields[`info_${copy}`] = commonFields.info!
  return { ...fields, ...commonFields }
}

const inputs: Record<string, GraphQLArgumentConfig> = {
  n: { type: GraphQLInt, defaultValue: 3 },
  s: { type: GraphQLString },
  color: { type: Color, defaultValue: 1 },
  input: { type: Input },
  list: { type: new GraphQLList(GraphQLInt) },
}

const commonFields: GraphQLFieldConfigMap<unknown, World> = {
  echo: { type: GraphQLString, args: inputs, resolve: (_parent, args) => JSON.stringify(args) },
  required: {
    type: new GraphQLNonNull(GraphQLString),
    args: {
      n: { type: new GraphQLNonNull(GraphQLInt), defaultValue: 5 },
      s: { type: new GraphQLNonNull(GraphQLString) },
    },
    resolve: (_parent, args) => JSON.stringify(args),
  },
  info: {
    type: GraphQLString,
    args: { n: { type: GraphQLInt } },
    resolve: (parent, _args, _context, info) => {
      const { path, fieldName, fieldNodes, parentType, variableValues, fragments, operation } = info
      const names = { fieldName, parentType, fragments: Object.keys(fragments), operation: operation.loc?.end }
      return JSON.stringify({ ...names, path, nodes: fieldNodes.length, variableValues, isRoot: parent === undefined })
    },
  },
}

const Named = new GraphQLInterfaceType({
  name: 'Named',
  fields: { echo: { type: GraphQLString, args: inputs } },
  resolveType: value => (value instanceof ThingB ? 'B' : 'A'),
})

/** Defines an object type whose values are instances of `Thing`. */
const createThingType = (name: string, { prototype }: typeof Thing): GraphQLObjectType =>
  new GraphQLObjectType({ name, interfaces: [Named], fields: () => createFields(prototype) })

const A = createThingType('A', Thing)
const B = createThingType('B', ThingB)

const RowType: GraphQLObjectType = new GraphQLObjectType({
  name: 'Row',
  fields: () => {
    const fields: GraphQLFieldConfigMap<unknown, World> = { echo: commonFields.echo! }
    const tags = new GraphQLList(new GraphQLNonNull(GraphQLString))
    const types: Record<keyof Row, GraphQLOutputType[]> = {
      i: [GraphQLInt, BigNumber, GraphQLID, GraphQLString, GraphQLFloat],
      d: [Money, GraphQLString, GraphQLFloat, BigNumber],
      b: [GraphQLBoolean, GraphQLString],
      t: [GraphQLString, GraphQLID, Color, GraphQLInt, OddScalar],
      at: [DateTime, GraphQLString],
      day: [CalendarDate, GraphQLString],
      j: [tags, new GraphQLNonNull(tags), new GraphQLList(GraphQLString), OddScalar, GraphQLString],
    }
    for (const [property, [plain, ...others]] of Object.entries(types)) {
      fields[property] = { type: plain! }
      for (const type of [plain!, ...others]) {
        fields[`${property}_${Object.keys(fields).length}`] = { type, resolve: createPropertyResolver(property) }
      }
      fields[`${property}Loaded`] = { type: plain!, resolve: createColumnResolver(property) }
      const required = new GraphQLNonNull(getNullableType(plain!))
      fields[`${property}Required`] = { type: required, resolve: createPropertyResolver(property) }
    }
    return fields
  },
})

export const generatedSchema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: () => ({
      ...createFields(null),
      named: { type: Named, resolve: (_, _args, world) => new Thing(world, '.named') },
    }),
  }),
  mutation: new GraphQLObjectType({ name: 'Mutation', fields: () => createFields(null) }),
  types: [A, B, RowType],
})
