/**
 * The executor must return the same results as graphql-js: data, and errors with messages, paths, locations and
 * original errors. The schema has fields of all types and sources. Its resolvers and the documents are generated.
 */
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { execute, getIntrospectionQuery, getOperationAST, parse, validate } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { column, nullable, type RowOf } from '../../src/db/row/column.ts'
import { createRowCodec, LazyRow } from '../../src/db/row/row-codec.ts'
import { BodyWriter } from '../../src/executor/body-buffers.ts'
import { OperationPlan } from '../../src/executor/plan.ts'
import { DocumentMaker, type GeneratedDocument } from '../support/document-maker.ts'
import { createErrorFinder } from '../support/possible-errors.ts'
import { argumentValues, generatedSchema, type World } from './generated-schema.ts'

const joinTexts = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at)).join(' ')

function createPlan(text: string): OperationPlan {
  const document = parse(text)
  return new OperationPlan(generatedSchema, document, getOperationAST(document)!)
}

/** The number of generated documents. Set `PARITY_DOCUMENTS=100000` for a long run. */
const documentCount = Number(process.env.PARITY_DOCUMENTS ?? 1000)

const findPossibleErrors = createErrorFinder(generatedSchema)

/**
 * Unhandled rejections of the executor. graphql-js causes some, because a list that fails at once ignores items that
 * fail later.
 */
const unhandled: unknown[] = []
const collectRejection = (error: unknown) => unhandled.push(error)
const listeners = process.listeners('unhandledRejection')

beforeAll(() => {
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', collectRejection)
})

afterAll(async () => {
  await setImmediate()
  process.off('unhandledRejection', collectRejection)
  for (const listener of listeners) process.on('unhandledRejection', listener)
})

/** Runs an operation, and expects that each rejection is handled. */
async function runChecked(plan: OperationPlan, variables: Record<string, unknown>, context: World) {
  await setImmediate()
  unhandled.length = 0
  const bound = plan.bind(variables)
  const outcome = bound?.isPlanned ? await bound.run(context) : null
  await setImmediate()
  expect(unhandled).toEqual([])
  return outcome
}

/** Returns the variables with inverted booleans, which change `@skip` and `@include`. */
function invertBooleans(variables: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(variables).map(([name, value]) => [name, typeof value === 'boolean' ? !value : value])
  return Object.fromEntries(entries)
}

/** Compares the results of the executor and graphql-js. @returns how the executor ran the document */
async function compareExecutors(
  { query, variables }: GeneratedDocument,
  behaviour: World,
): Promise<'left to graphql-js' | 'without errors' | 'with errors'> {
  const document = parse(query)
  const plan = createPlan(query)
  // The same plan first runs with other variables and another layout of rows, and must keep no state of that run.
  await runChecked(plan, invertBooleans(variables), { ...behaviour, seed: behaviour.seed ^ 0x5bd1e995 })
  const actual = await runChecked(plan, variables, behaviour)
  if (!actual) return 'left to graphql-js'
  const args = { document, variableValues: variables }
  const { data, errors = [] } = await execute({ ...args, schema: generatedSchema, contextValue: behaviour })
  expect(actual.data.toString()).toBe(JSON.stringify(data))
  if (errors.length === 0 && actual.errors.length === 0) return 'without errors'
  const possible = await findPossibleErrors({ ...args, contextValue: behaviour })
  expect(possible.check(data, errors), 'graphql-js').toBeNull()
  expect(possible.check(data, actual.errors), 'the executor').toBeNull()
  return 'with errors'
}

test('the executor returns the same data and errors as graphql-js for generated documents and resolvers', async () => {
  const count = { 'left to graphql-js': 0, 'without errors': 0, 'with errors': 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.gen(),
      fc.record({ seed: fc.integer(), trouble: fc.constantFrom(0, 3, 10, 30) }),
      async (draw, behaviour) => {
        const generated = new DocumentMaker(draw, generatedSchema, { values: argumentValues, depth: 3 }).make()
        fc.pre(validate(generatedSchema, parse(generated.query)).length === 0)
        try {
          count[await compareExecutors(generated, behaviour)]++
        } catch (error) {
          throw new Error(`${generated.query}\n${JSON.stringify(generated.variables)}`, { cause: error })
        }
      },
    ),
    { numRuns: documentCount },
  )
  expect(count['left to graphql-js']).toBeLessThan(0.2 * documentCount)
  expect(count['with errors']).toBeGreaterThan(0.2 * documentCount)
}, 600_000)

test('an operation is not run with invalid variables', () => {
  expect(createPlan('query ($n: Int!) { echo(n: $n) }').bind({})).toBeNull()
  expect(createPlan('query ($n: Int) { echo(n: $n) }').bind({ n: 'x' })).toBeNull()
})

test.each([
  ['a null condition', 'query ($b: Boolean = true) { echo @skip(if: $b) }', { b: null }, 'must not be null'],
  ['a field that does not exist', '{ f7_0 { nothing } }', {}, 'has no field'],
  ['a cycle of fragments', '{ f7_0 { ...F } } fragment F on A { f7_0 { ...F } }', {}, 'form a cycle'],
  [
    'more than 25,000 fields',
    `{ ${joinTexts(30, at => `a${at}: f7_0 { ...F }`)} } fragment F on A { ${joinTexts(900, () => 'echo')} }`,
    {},
    'more than 25000 fields',
  ],
])('an operation that cannot be planned is not bound: %s', (_, text, variables, message) => {
  expect(() => createPlan(text).bind(variables)).toThrow(message)
})

test.each([
  ['an interface', '{ named { echo } }', false],
  ['a mutation of several fields', 'mutation { a: echo(n: 1) b: echo(n: 2) }', false],
  ['a mutation of one field', 'mutation { echo }', true],
  ['introspection', `{ echo a: ${getIntrospectionQuery().replace(/^.*?__schema/s, '__schema')}`, true],
  ['introspection of a type', '{ __type(name: "A") { ...F ...F } } fragment F on __Type { __typename name }', true],
  ['introspection of a type that is not there', '{ __type(name: "Nothing") { name } }', true],
])('%s runs as in graphql-js', async (_, text, isPlanned) => {
  const bound = createPlan(text).bind({})!
  expect(bound.isPlanned).toBe(isPlanned)
  const contextValue: World = { seed: 1, trouble: 0 }
  const { data } = await execute({ schema: generatedSchema, document: parse(text), contextValue })
  expect(String((await bound.run(contextValue)).data)).toBe(JSON.stringify(data))
})

test('the executor plans a field once, even when fragments repeat the field in many places', async () => {
  const doubling = joinTexts(9, at => `fragment F${at} on A { a: f7_0 { ...F${at + 1} } b: f7_0 { ...F${at + 1} } }`)
  const plan = createPlan(`{ f7_0 { ...F0 } } ${doubling} fragment F9 on A { echo }`)
  expect(plan.bind({})?.isPlanned).toBe(true)
  expect(plan.fields).toBe(20)
})

test('an operation gives the correct result for all values of its conditions, and keeps few plans', async () => {
  const names = [...'abcdefgh']
  const declared = names.map(name => `$${name}: Boolean!`).join()
  const plan = createPlan(`query (${declared}) { ${names.map(name => `${name}: echo @skip(if: $${name})`).join(' ')} }`)
  for (let choice = 0; choice < 256; choice++) {
    const variables = Object.fromEntries(names.map((name, at) => [name, (choice & (1 << at)) !== 0]))
    const { data } = await plan.bind(variables)!.run({ seed: 1, trouble: 0 })
    expect(Object.keys(JSON.parse(data.toString()))).toEqual(names.filter(name => !variables[name]))
  }
  expect(plan.fields).toBeLessThanOrEqual(8 * names.length)
})

/** Returns a body that starts with a text of this length, so that each test ends at another place of the buffer. */
function createBody(length: number): BodyWriter {
  const body = new BodyWriter()
  body.value('x'.repeat(length))
  return body
}

test('text and columns can be written and removed again, even across the end of a buffer', () => {
  const described = {
    a: column('a', 'boolean'),
    b: nullable('b', 'text'),
    c: column('c', 'text'),
    d: column('d', 'decimal'),
  }
  const codec = createRowCodec<RowOf<typeof described>>(described)
  const [row] = codec.read(Buffer.from('(t,,"\x01\x02""",2.50)'))
  if (!(row instanceof LazyRow)) throw new Error('There is no row.')
  const columns = [...row.layout].map(([name, { offset, codec }]) => {
    const prefix = Buffer.from(`,${JSON.stringify(name)}:`)
    return { prefix, offset, writeJson: codec.writeJson, nonNull: false, omitNull: false }
  })
  for (let length = 0; length <= 600_000; length += 9_973) {
    const body = createBody(length)
    const before = body.length
    body.text(Buffer.from(',"a_long_key_that_is_left_out":'))
    body.null()
    body.backTo(before)
    expect(body.columns(row, columns, 0)).toBe(4)
    const written = ',"a":true,"b":null,"c":"\\u0001\\u0002\\"","d":2.5'
    expect(body.finish().toString()).toBe(`"${'x'.repeat(length)}"${written}`)
  }
})

test('later bodies do not overwrite a finished body', () => {
  const bodies = Array.from({ length: 3000 }, (_, index) => createBody(index % 997).finish())
  for (const [index, body] of bodies.entries()) expect(JSON.parse(body.toString())).toBe('x'.repeat(index % 997))
})
