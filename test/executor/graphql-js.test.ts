/** The executor gives what graphql-js gives: data, and errors with messages, paths, locations and original errors. */
import {
  execute,
  GraphQLEnumType,
  GraphQLError,
  type GraphQLFieldConfig,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLResolveInfo,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  getOperationAST,
  parse,
  validate,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { OperationPlan } from '../../src/executor/plan.ts'

const Odd = new GraphQLScalarType({
  name: 'Odd',
  serialize(value) {
    if (value === 'null') return null
    if (value === 'throw') throw new TypeError('not odd')
    if (value === 'graphql') throw new GraphQLError('not odd, says GraphQL', { extensions: { code: 'X' } })
    if (value === 'nan') return Number.NaN
    return { odd: value }
  },
})
const Colour = new GraphQLEnumType({ name: 'Colour', values: { RED: { value: 1 }, BLUE: { value: 2 } } })
const Input = new GraphQLInputObjectType({
  name: 'Input',
  fields: { a: { type: GraphQLInt, defaultValue: 3 }, b: { type: new GraphQLNonNull(GraphQLString) } },
})
const Named = new GraphQLInterfaceType({ name: 'Named', fields: { name: { type: GraphQLString } } })

/** Errors are made once, so that both executors throw the same. */
const thrown = new Error('thrown')
const coded = new GraphQLError('coded', { extensions: { code: 'CODED' } })
const located = new GraphQLError('located elsewhere', { path: ['elsewhere', 1] })

const pathsSeen: unknown[] = []
const pathOf = ({ path }: GraphQLResolveInfo): unknown[] => {
  const keys: unknown[] = []
  for (let at: typeof path | undefined = path; at; at = at.prev) keys.unshift(`${at.typename ?? ''}.${at.key}`)
  return keys
}

const field = (
  type: GraphQLFieldConfig<unknown, unknown>['type'],
  resolve?: GraphQLFieldConfig<unknown, unknown>['resolve'],
): GraphQLFieldConfig<unknown, unknown> => (resolve ? { type, resolve } : { type })

const Thing: GraphQLObjectType = new GraphQLObjectType({
  name: 'Thing',
  interfaces: [Named],
  fields: () => ({
    name: field(GraphQLString),
    id: field(GraphQLID),
    number: field(GraphQLInt),
    colour: field(Colour),
    odd: field(Odd),
    odds: field(new GraphQLList(Odd)),
    strictOdds: field(new GraphQLList(new GraphQLNonNull(Odd))),
    strict: field(new GraphQLNonNull(GraphQLString)),
    matrix: field(new GraphQLList(new GraphQLList(GraphQLInt))),
    strictMatrix: field(new GraphQLList(new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLInt))))),
    throws: field(GraphQLString, () => {
      throw thrown
    }),
    strictThrows: field(new GraphQLNonNull(GraphQLString), () => {
      throw thrown
    }),
    strictRejects: field(new GraphQLNonNull(GraphQLString), async () => {
      throw thrown
    }),
    rejects: field(GraphQLString, async () => {
      throw coded
    }),
    elsewhere: field(GraphQLString, () => {
      throw located
    }),
    throwsText: field(GraphQLString, () => {
      throw 'a text'
    }),
    returnsError: field(GraphQLString, () => thrown),
    later: field(GraphQLString, async () => 'later'),
    laterError: field(GraphQLString, async () => thrown),
    path: field(GraphQLString, (_parent, _args, _context, info) => {
      pathsSeen.push(pathOf(info))
      return 'seen'
    }),
    self: field(Thing, thing => thing),
    strictSelf: field(new GraphQLNonNull(Thing), thing => thing),
    child: field(Thing),
    children: field(new GraphQLList(Thing)),
    strictChildren: field(new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(Thing)))),
    checked: field(Checked),
    checkedList: field(new GraphQLList(Checked)),
    echo: {
      type: GraphQLString,
      args: {
        text: { type: GraphQLString, defaultValue: 'default' },
        colour: { type: Colour },
        input: { type: Input },
        list: { type: new GraphQLList(GraphQLInt) },
        required: { type: new GraphQLNonNull(GraphQLInt), defaultValue: 5 },
      },
      resolve: (_parent, args) => JSON.stringify(args),
    },
    plain: {
      type: GraphQLString,
      args: { a: { type: GraphQLString }, b: { type: GraphQLInt } },
      resolve: (_parent, args) => JSON.stringify(args),
    },
  }),
})
const Checked = new GraphQLObjectType({
  name: 'Checked',
  fields: () => ({ name: field(GraphQLString), strict: field(new GraphQLNonNull(GraphQLString)) }),
  isTypeOf(value) {
    const { is } = value as { is: unknown }
    if (is === 'throws') throw thrown
    return is as boolean | Promise<boolean>
  },
})

class WithMethod {
  readonly name = 'object with methods'
  number(_args: object, context: { factor: number }, { fieldName }: GraphQLResolveInfo) {
    return context.factor * fieldName.length * this.name.length
  }
  get colour(): number {
    throw thrown
  }
}

/** A rejection that many documents read, or none. */
function rejected(error: Error): Promise<never> {
  const rejection = Promise.reject(error)
  rejection.catch(() => {})
  return rejection
}

const thing = (more: object = {}) => ({ name: 'a', strict: 's', number: 1, ...more })
const things: Record<string, unknown> = {
  full: thing({ id: 7, colour: 2, odd: 'x', odds: ['a', null, 'b'], matrix: [[1, 2], null, [], [3]] }),
  odd: thing({
    odd: 'throw',
    odds: ['a', 'null', 'nan', 'throw', 'graphql', 'z'],
    strictOdds: ['a', 'throw', 'z'],
    id: {},
    colour: 9,
    number: 'many',
  }),
  nulls: thing({ strictOdds: ['a', null, 'throw'], strictMatrix: [[1], [2, null, 'x'], [3]], strict: null }),
  undefineds: { strict: undefined, odds: [undefined], matrix: undefined },
  notLists: thing({ odds: 'text', children: { length: 1, 0: thing() }, strictChildren: 5, matrix: [1, [2]] }),
  iterables: thing({
    odds: new Set(['a', 'b']),
    children: (function* () {
      yield thing({ name: 'first' })
      yield thing({ name: 'second' })
    })(),
    matrix: {
      *[Symbol.iterator]() {
        yield [1]
        throw thrown
      },
    },
  }),
  promises: thing({
    name: Promise.resolve('promised'),
    number: Promise.resolve(null),
    strict: Promise.resolve(undefined),
    odd: Promise.resolve('throw'),
    odds: [Promise.resolve('a'), rejected(thrown), thrown, Promise.resolve(thrown)],
    children: Promise.resolve([Promise.resolve(thing({ name: 'late' })), null, thing(), rejected(coded)]),
    // biome-ignore lint/suspicious/noThenProperty: graphql-js takes whatever has a `then` for a promise.
    colour: { then: (resolve: (value: number) => void) => resolve(1) },
  }),
  methods: new WithMethod(),
  family: thing({
    child: thing({ child: thing({ strict: null }), children: [thing(), null, thing({ strict: null, name: 'c' })] }),
    children: [thing({ name: 'x' }), null, thing({ strict: null }), thrown, thing({ name: 'y', children: [thing()] })],
    strictChildren: [thing(), thing({ strict: null }), thing({ strict: null })],
  }),
  noChildren: thing({ children: [], strictChildren: [] }),
  nullChildren: thing({ strictChildren: [thing(), null, thing()] }),
  checks: thing({
    checked: { is: true, name: 'yes' },
    checkedList: [
      { is: true, name: 'a' },
      { is: false },
      { is: 'throws' },
      null,
      { is: Promise.resolve(true), name: 'b' },
      { is: Promise.resolve(false) },
      { is: rejected(coded) },
    ],
  }),
}
const order: string[] = []
const step = (name: string, resolve: () => unknown) => () => {
  order.push(name)
  return resolve()
}
const schema = new GraphQLSchema({
  types: [Checked],
  query: new GraphQLObjectType({
    name: 'Query',
    fields: {
      thing: {
        type: Thing,
        args: { of: { type: new GraphQLNonNull(GraphQLString) } },
        resolve: (_root, { of }) => things[of],
      },
      strictThing: {
        type: new GraphQLNonNull(Thing),
        args: { of: { type: new GraphQLNonNull(GraphQLString) } },
        resolve: async (_root, { of }) => things[of],
      },
      named: { type: Named, resolve: () => ({ __typename: 'Thing', name: 'n' }) },
      root: { type: GraphQLString },
    },
  }),
  mutation: new GraphQLObjectType({
    name: 'Mutation',
    fields: {
      first: field(
        Thing,
        step('first', async () => thing()),
      ),
      second: field(
        GraphQLString,
        step('second', () => 'second'),
      ),
      fails: field(
        GraphQLString,
        step('fails', async () => {
          throw thrown
        }),
      ),
      strictFails: field(
        new GraphQLNonNull(GraphQLString),
        step('strictFails', () => {
          throw thrown
        }),
      ),
    },
  }),
})

const shown = (errors: readonly GraphQLError[] = []) =>
  errors.map(error => ({
    message: error.message,
    path: error.path,
    locations: error.locations,
    extensions: error.extensions,
    original: error.originalError?.message,
    isSame: error.originalError === thrown || error.originalError === coded || error === located,
  }))

async function bothWays(text: string, variables: Record<string, unknown> = {}) {
  const document = parse(text)
  expect(validate(schema, document)).toEqual([])
  const contextValue = { factor: 3 }
  order.length = 0
  pathsSeen.length = 0
  const expected = await execute({ schema, document, variableValues: variables, contextValue })
  const orders = [order.splice(0)]
  const paths = [pathsSeen.splice(0).map(path => JSON.stringify(path))]
  const bound = new OperationPlan(schema, document, getOperationAST(document)!).bind(variables)
  const outcome = await bound?.run(contextValue)
  orders.push(order.splice(0))
  paths.push(pathsSeen.splice(0).map(path => JSON.stringify(path)))
  return {
    isRun: bound?.isPlanned ?? false,
    expected: { data: JSON.stringify(expected.data), errors: shown(expected.errors) },
    given: outcome && { data: outcome.data.toString(), errors: shown(outcome.errors) },
    orders,
    paths,
  }
}

const all = 'name id number colour odd odds strictOdds matrix strictMatrix'
const cases: [name: string, text: string, variables?: Record<string, unknown>][] = [
  ['values', `{ thing(of: "full") { ${all} strict } root }`],
  ['nothing', '{ thing(of: "none") { name } }'],
  ['__typename', '{ __typename a: __typename thing(of: "full") { __typename name t: __typename } }'],
  ['values that cannot be serialized', `{ thing(of: "odd") { ${all} strict } }`],
  ['nulls in non-null fields', `{ thing(of: "nulls") { ${all} strict } root }`],
  ['a null in a list of non-nulls', '{ thing(of: "nulls") { strictOdds name } }'],
  ['a null in a list of lists', '{ thing(of: "nulls") { strictMatrix name } }'],
  ['a null that propagates to the root', '{ root strictThing(of: "nulls") { strict } }'],
  ['a null object in a non-null field', '{ root strictThing(of: "none") { name } }'],
  ['a null below a non-null object', '{ thing(of: "nulls") { name strictSelf { strictSelf { strict } } } root }'],
  ['undefined values', '{ thing(of: "undefineds") { name odds matrix } }'],
  ['values of list fields that are not lists', '{ thing(of: "notLists") { odds children { name } matrix name } }'],
  ['a value that is not a list, in a non-null field', '{ root thing(of: "notLists") { strictChildren { name } } }'],
  ['iterables', '{ thing(of: "iterables") { odds matrix } }'],
  ['methods', '{ thing(of: "methods") { name number colour } }'],
  ['resolvers that fail', '{ thing(of: "full") { throws name throwsText returnsError elsewhere } }'],
  ['a resolver of a non-null field that fails', '{ root thing(of: "full") { name throws strictThrows } }'],
  ['errors in lists', '{ thing(of: "family") { name children { name strict throws children { name throws } } } }'],
  [
    'an object that fails in a list of non-null objects',
    '{ thing(of: "family") { name strictChildren { name strict } } root }',
  ],
  ['a null in a list of non-null objects', '{ thing(of: "nullChildren") { name strictChildren { name } } root }'],
  ['empty lists', '{ thing(of: "noChildren") { children { name throws } strictChildren { name } } }'],
  ['objects below objects', '{ thing(of: "family") { child { name child { name } children { name strict } } } }'],
  [
    'merged fields',
    '{ thing(of: "full") { name } thing(of: "full") { number name throws } ... { thing(of: "full") { throws } } }',
  ],
  ['merged fields that fail', '{ thing(of: "nulls") { strict } thing(of: "nulls") { strict name } }'],
  [
    'fragments',
    `{ thing(of: "full") { ...A ...B ... on Thing { number } ... on Named { n: name } ... { id } } }
     fragment A on Thing { name ...B } fragment B on Thing { colour self { ...C } } fragment C on Thing { odd }`,
  ],
  [
    'a literal condition',
    '{ thing(of: "full") { a: name @skip(if: true) b: name @include(if: false) c: name @skip(if: false) @include(if: true) } }',
  ],
  ['a selection that is skipped completely', '{ thing(of: "full") { name @skip(if: true) } }'],
  ...[true, false].flatMap((a): [string, string, Record<string, unknown>][] =>
    [true, false].map(b => [
      `conditions ${a} and ${b}`,
      `query ($a: Boolean!, $b: Boolean = true) { thing(of: "full") { name @include(if: $a) ...F @skip(if: $b) ... @include(if: $b) { id } ...F @include(if: $a) } }
       fragment F on Thing { number self @skip(if: $a) { name } }`,
      { a, b },
    ]),
  ),
  ['a condition with a default', 'query ($b: Boolean! = true) { thing(of: "full") { name @skip(if: $b) id } }'],
  [
    'arguments',
    '{ thing(of: "full") { echo a: echo(text: "x", colour: RED, list: 4, required: 1) b: echo(text: null, input: { b: "y" }) } }',
  ],
  [
    'arguments from variables',
    `query ($t: String, $c: Colour, $i: Input, $l: [Int], $r: Int! = 9, $n: Int) { thing(of: "full") {
       echo(text: $t, colour: $c, input: $i, list: $l, required: $r) e: echo(list: [1, $n], input: { b: "z", a: $n }) plain(a: $t, b: $n) } }`,
    { c: 'BLUE', i: { b: 'q' }, l: 3, n: 8 },
  ],
  [
    'variables that are absent',
    'query ($t: String, $n: Int) { thing(of: "full") { plain(a: $t, b: $n) echo(text: $t) } }',
  ],
  [
    'variables that are null',
    'query ($t: String, $n: Int = 4) { thing(of: "full") { plain(a: $t, b: $n) echo(text: $t, required: $n) } }',
    { t: null, n: null },
  ],
  ['a required argument whose variable is absent', 'query ($n: Int) { thing(of: "full") { echo(required: $n) } }', {}],
  ['a mutation', 'mutation { first { name strict } second fails again: second }'],
  ['a mutation whose second field fails', 'mutation { first { name } strictFails second }'],
  ['a mutation of one field', 'mutation { first { throws name } }'],
  [
    'aliases that JavaScript objects treat specially',
    '{ __proto__: thing(of: "full") { then: name toJSON: number constructor: id __proto__: name } }',
  ],
]

test.each(cases)('%s', async (_, text, variables) => {
  const { isRun, given, expected, orders } = await bothWays(text, variables)
  expect(isRun).toBe(true)
  expect(given).toEqual(expected)
  expect(orders[1]).toEqual(orders[0])
})

/** graphql-js reports errors as promises settle, and not those below a position that is null by then. */
test.each<[name: string, text: string]>([
  ['promises', '{ thing(of: "promises") { name number odds later laterError rejects children { name later } } }'],
  ['a promise of null in a non-null field', '{ root thing(of: "promises") { name strict } }'],
  ['a rejection in a non-null field', '{ root thing(of: "full") { strictRejects name } }'],
  ['objects with a `then` method', '{ thing(of: "promises") { colour odd } }'],
  ['rejections below a list', '{ thing(of: "family") { children { name rejects strict } } }'],
])('%s', async (_, text) => {
  const { isRun, given, expected } = await bothWays(text)
  expect(isRun).toBe(true)
  expect(given?.data).toBe(expected.data)
  const sorted = (errors: object[] = []) => errors.map(error => JSON.stringify(error)).sort()
  const reported = sorted(given?.errors)
  for (const error of sorted(expected.errors)) expect(reported).toContain(error)
})

test('resolvers receive the path of each value', async () => {
  const { paths } = await bothWays(
    '{ path: thing(of: "family") { path children { p: path children { path } } child { children { path } } strictSelf { path } } }',
  )
  expect(paths[0]).toHaveLength(8)
  expect(paths[1]?.sort()).toEqual(paths[0]?.sort())
})

describe('the executor leaves to graphql-js', () => {
  test.each([
    ['an interface', '{ named { name } }'],
    ['a type with isTypeOf', '{ thing(of: "checks") { checked { name } checkedList { name } } }'],
    ['introspection', '{ __schema { description } }'],
    ['introspection of a type', '{ __type(name: "Thing") { name } }'],
  ])('%s', async (_, text) => {
    const { isRun, given, expected } = await bothWays(text)
    expect(isRun).toBe(false)
    expect(given).toEqual(expected)
  })
})

describe('nothing is run', () => {
  const bind = (text: string, variables: Record<string, unknown>) => {
    const document = parse(text)
    return new OperationPlan(schema, document, getOperationAST(document)!).bind(variables)
  }

  test.each([
    ['a variable that is missing', 'query ($n: Int!) { thing(of: "full") { plain(b: $n) } }', {}],
    ['a variable of another type', 'query ($n: Int) { thing(of: "full") { plain(b: $n) } }', { n: 'x' }],
  ])('with faulty variables: %s', (_, text, variables) => {
    expect(bind(text, variables)).toBeNull()
  })

  test.each([
    [
      'a condition that is null',
      'query ($b: Boolean = true) { thing(of: "full") { name @skip(if: $b) } }',
      { b: null },
      'must not be null',
    ],
    ['a field that does not exist', '{ thing(of: "full") { nothing } }', {}, 'has no field'],
    [
      'a cycle of fragments',
      '{ thing(of: "full") { ...F } } fragment F on Thing { child { ...F } }',
      {},
      'form a cycle',
    ],
    [
      'more than 25,000 fields',
      `{ ${Array.from({ length: 30 }, (_, at) => `a${at}: thing(of: "full") { ...F }`).join(' ')} } fragment F on Thing { ${'name '.repeat(900)} }`,
      {},
      'more than 25000 fields',
    ],
  ])('when the operation cannot be planned: %s', (_, text, variables, message) => {
    expect(() => bind(text, variables)).toThrow(message)
  })
})

test('an operation keeps few plans, and runs for any choice of its conditions', async () => {
  const names = [...'abcdefgh']
  const document = parse(
    `query (${names.map(name => `$${name}: Boolean!`)}) { ${names.map(name => `${name}: root @skip(if: $${name})`).join(' ')} }`,
  )
  const plan = new OperationPlan(schema, document, getOperationAST(document)!)
  for (let choice = 0; choice < 256; choice++) {
    const variables = Object.fromEntries(names.map((name, at) => [name, (choice & (1 << at)) !== 0]))
    const outcome = await plan.bind(variables)!.run({})
    expect(Object.keys(JSON.parse(outcome.data.toString()))).toEqual(names.filter(name => !variables[name]))
  }
  expect(plan.fields).toBeLessThanOrEqual(8 * names.length)
})
