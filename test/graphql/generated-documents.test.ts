import fc, { type GeneratorValue } from 'fast-check'
import {
  execute,
  type GraphQLArgument,
  type GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  validate,
} from 'graphql'
import { expect, test } from 'vitest'
import { permissionNames } from '../../src/domain/permission.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createContexts } from '../support/gateway.ts'

const database = await createDatabase()
const build = createBuilders(database)
const client = await createApp(database)
const contextOf = createContexts(database.pool)

const tenantId = await build.tenant({ name: 'The "Old" Mill' })
const products = [
  await build.product(tenantId, { price: '12.50', image_urls: ['a', 'b'] }),
  await build.product(tenantId),
]
await build.variant(products[0]!, { price: '9.90' })
await build.category(tenantId, products)
const voucherId = await build.voucher(tenantId, { currency: 'GBP', current_balance: '0.07' })
await build.customer(tenantId, { email: 'ada@example.com' })
const permissions = permissionNames.filter(name => name !== 'view_orders')
const { id: tokenId, secret } = await build.token([tenantId], { permissions, name: 'Sync' })

/** Fields whose values differ from one answer to the next. */
const unsteady = new Set(['serverTime', 'cursor', 'nextCursor', 'startCursor', 'endCursor', 'rate', 'redemptionToken'])

const oddNames = [
  'then',
  'constructor',
  'toString',
  'hasOwnProperty',
  '__proto__',
  'toJSON',
  'length',
  'x',
  '_',
  'data',
]

const globalId = (key: string) => Buffer.from(key).toString('base64url')
const ids = [String(tenantId), String(products[0]), String(voucherId), '6', 'x', globalId(`Tenant:${tenantId}`)]

/** The values that arguments and variables take, by their type. `Int` as text is faulty for a variable. */
const values: Record<string, unknown[]> = {
  ID: [...ids, products[0]],
  Int: [0, 1, 2, 100, -1],
  String: ['', 'x', 'after'],
  DateTime: ['2020-01-01T00:00:00Z', 'never'],
  Boolean: [true, false],
  RemovalResource: ['TENANT', 'CATALOG_VOUCHER'],
}

interface Variable {
  name: string
  type: string
  fallback: string | null
  value: unknown
}

/** Makes one document: its choices are drawn from fast-check, so that it can make a smaller one of it. */
class DocumentMaker {
  readonly #draw: GeneratorValue
  readonly #fragments = new Map<string, string>()
  readonly #variables = new Map<string, Variable>()
  #aliases = 0

  constructor(draw: GeneratorValue) {
    this.#draw = draw
  }

  make(): { query: string; variables: Record<string, unknown> } {
    const selection = this.#selection(schema.getQueryType()!, 0)
    const variables = [...this.#variables.values()]
    const declared = variables.map(
      ({ name, type, fallback }) => `$${name}: ${type}${fallback === null ? '' : ` = ${fallback}`}`,
    )
    const head = declared.length > 0 ? `query (${declared.join(', ')})` : ''
    const given = variables.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value])
    return {
      query: [`${head} ${selection}`, ...this.#fragments.values()].join('\n'),
      variables: Object.fromEntries(given),
    }
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#draw(fc.nat, { max: items.length - 1 })]!
  }

  #chance(oneIn: number): boolean {
    return this.#draw(fc.nat, { max: oneIn - 1 }) === 0
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const fields = Object.values(type.getFields()).filter(
      field => !unsteady.has(field.name) && (depth < 4 || !isObjectType(getNamedType(field.type))),
    )
    if (fields.length === 0) return '{ __typename }'
    const parts: string[] = []
    for (let count = 1 + this.#draw(fc.nat, { max: 3 }); count > 0; count--) {
      const part = this.#field(this.#pick(fields), depth)
      parts.push(part)
      // The same field again is merged with the first.
      if (this.#chance(4)) parts.push(part)
    }
    if (this.#chance(6)) parts.push('__typename')
    const body = `{ ${parts.join(' ')} }`
    if (depth === 0 || !this.#chance(3)) return body
    if (this.#chance(2)) return `{ ... on ${type.name}${this.#directives()} ${body} __typename }`
    const odd = this.#pick(oddNames)
    const name = this.#chance(2) && !this.#fragments.has(odd) ? odd : `F${this.#fragments.size}`
    this.#fragments.set(name, `fragment ${name} on ${type.name} ${body}`)
    return `{ ...${name}${this.#directives()} __typename ...${name} }`
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number): string {
    const alias = this.#chance(4) && this.#aliases++ < 20 ? `${this.#pick(oddNames)}: ` : ''
    const args = field.args.flatMap(arg => this.#argument(arg))
    const type = getNamedType(field.type)
    const isInterface = !isObjectType(type) && 'getFields' in type
    const selection = isInterface
      ? ' { __typename id ... on Tenant { name } }'
      : isObjectType(type)
        ? ` ${this.#selection(type, depth + 1)}`
        : ''
    return `${alias}${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}${this.#directives()}${selection}`
  }

  #argument({ name, type }: GraphQLArgument): string[] {
    const required = isNonNullType(type)
    if (!required && this.#chance(2)) return []
    const isList = isListType(getNullableType(type))
    const known = values[getNamedType(type).name]
    if (!known) return []
    const one = this.#pick(known)
    const value = isList && !this.#chance(4) ? [one] : one
    if (this.#chance(2)) return [`${name}: ${this.#literal(value, getNamedType(type).name)}`]
    return [`${name}: $${this.#variable(String(type), value, getNamedType(type).name)}`]
  }

  #directives(): string {
    if (!this.#chance(4)) return ''
    const name = this.#pick(['skip', 'include'])
    const condition = this.#chance(2)
      ? this.#pick(['true', 'false'])
      : `$${this.#variable('Boolean!', true, 'Boolean')}`
    return ` @${name}(if: ${condition})`
  }

  /** Declares a variable: with a default or without, given or not, under an odd name or a plain one. */
  #variable(type: string, value: unknown, named: string): string {
    const odd = this.#pick(oddNames)
    const name = this.#chance(3) && !this.#variables.has(odd) ? odd : `v${this.#variables.size}`
    const fallback = this.#chance(3) ? this.#literal(value, named) : null
    const isGiven = fallback === null ? !this.#chance(10) : this.#chance(2)
    this.#variables.set(name, { name, type, fallback, value: isGiven ? value : undefined })
    return name
  }

  #literal(value: unknown, named: string): string {
    return named === 'RemovalResource' ? JSON.stringify(value).replaceAll('"', '') : JSON.stringify(value)
  }
}

/** The start of a message: the service leaves out the middle of a long one. */
const startOf = ({ message }: { message: string }) => message.slice(0, 100)

const shown = ({ message, path, locations }: GraphQLError | { message: string; path?: unknown; locations?: unknown }) =>
  JSON.stringify({ message, path, locations })

/** graphql-js' own answer: data, and errors in no order. */
async function answerOfGraphql(query: string, variables: Record<string, unknown>) {
  const document = parse(query)
  const fieldErrors = validate(schema, document, undefined, { maxErrors: 10, hideSuggestions: true })
  if (fieldErrors.length > 0) return { errors: fieldErrors.map(startOf).sort() }
  const contextValue = contextOf({ tokenId, tenants: [tenantId], permissions })
  const variableValues = variables
  const { data, errors = [] } = await execute({
    schema,
    document,
    contextValue,
    variableValues,
    hideSuggestions: true,
    options: { maxCoercionErrors: 10 },
  })
  if (data === undefined) return { errors: errors.map(startOf).sort() }
  return { data: JSON.stringify(data), errors: errors.map(shown).sort() }
}

async function answerOfService(query: string, variables: Record<string, unknown>) {
  const { body } = await client.graphql(secret, query, variables)
  const errors: { message: string }[] = body.errors ?? []
  if (body.data === undefined) return { errors: errors.map(startOf).sort() }
  return { data: JSON.stringify(body.data), errors: errors.map(shown).sort() }
}

test('each answer to a document, up to the tenth, is that of graphql-js', async () => {
  let valid = 0
  await fc.assert(
    fc.asyncProperty(fc.gen(), async draw => {
      const { query, variables } = new DocumentMaker(draw).make()
      // graphql-js knows no limits.
      const { errors } = await answerOfService(query, variables)
      fc.pre(!errors.some(message => /limit of \d+ exceeded|2000 tokens|The query costs/.test(message)))
      const expected = await answerOfGraphql(query, variables)
      if (expected.data !== undefined) valid++
      for (let time = 0; time < 10; time++) expect(await answerOfService(query, variables), query).toEqual(expected)
    }),
    { numRuns: 200, endOnFailure: true },
  )
  expect(valid).toBeGreaterThan(20)
}, 120_000)

test.each([
  [
    'conditions beside merged fields',
    '{ viewer { name @skip(if: true) name permissions } viewer { name @include(if: false) } }',
    {},
  ],
  ['a default of another form', 'query ($t: ID! = "6") { tenant(id: $t) { name } }', {}],
  ['a default that is a number', 'query ($t: ID! = 6) { tenant(id: $t) { name } }', {}],
  ['a variable named constructor', 'query ($constructor: ID!) { tenant(id: $constructor) { name } }', {}],
  ['an alias named __proto__', '{ __proto__: viewer { name } }', {}],
  ['an alias named then', '{ then: viewer { then: name catch: permissions } }', {}],
  [
    'an alias named then, below a list',
    `{ tenant(id: ${tenantId}) { catalogVouchers { nodes { then: title variants { then: title } } } } }`,
    {},
  ],
  ['a fragment named __proto__', '{ viewer { ...__proto__ } } fragment __proto__ on Viewer { name }', {}],
  [
    'spreads of fragments that are properties of any object',
    '{ ...constructor ...hasOwnProperty viewer { ...valueOf } }',
    {},
  ],
  ['a spread of __proto__ without a fragment', '{ ...__proto__ }', {}],
  ['a type that is a property of any object', '{ viewer { ... on constructor { name } } }', {}],
  [
    'a variable of another type than its argument',
    'query ($n: String) { tenants(first: $n) { nodes { name } } }',
    { n: 'zz' },
  ],
  ['a number for a list', 'query ($n: Int) { nodes(ids: $n) { id } }', { n: 5 }],
  ['a fragment twice', '{ viewer { ...F ...F } } fragment F on Viewer { name ... on Viewer { name permissions } }', {}],
])('is that of graphql-js: %s', async (_, query, variables) => {
  const expected = await answerOfGraphql(query, variables)
  for (let time = 0; time < 10; time++) expect(await answerOfService(query, variables)).toEqual(expected)
})

test('the operation that is named runs, whatever the name is', async () => {
  const query = 'query A { viewer { name } } query B { viewer { permissions } }'
  const ask = async (operationName: string | null, text = query) => {
    const headers = {
      authorization: `Bearer ${secret}`,
      accept: 'application/json',
      'content-type': 'application/json',
    }
    const payload = JSON.stringify({ query: text, operationName })
    return (await client.ask({ method: 'POST', url: '/graphql', headers, payload })).body
  }
  for (let time = 0; time < 5; time++) {
    expect((await ask('A')).data).toEqual({ viewer: { name: 'Sync' } })
    expect((await ask('B')).data).toEqual({ viewer: { permissions: expect.any(Array) } })
    for (const name of [null, '', '\n', '\nA', 'A\n', 'constructor']) expect((await ask(name)).data).toBeUndefined()
    expect((await ask(null, '\n{ viewer { name } }')).data).toEqual({ viewer: { name: 'Sync' } })
    expect((await ask('\n', '{ viewer { name } }')).data).toBeUndefined()
  }
})
