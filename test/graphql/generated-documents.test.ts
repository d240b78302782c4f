import fc from 'fast-check'
import { type ExecutionResult, execute, parse, validate } from 'graphql'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { type Permission, permissionNames } from '../../src/domain/token/permission.ts'
import { type Context, createContext } from '../../src/graphql/context.ts'
import { schema } from '../../src/graphql/schema.ts'
import { openGateway } from '../../src/open-gateway.ts'
import { afterFile } from '../support/cleanups.ts'
import { DocumentMaker, type GeneratedDocument } from '../support/document-maker.ts'
import { globalId } from '../support/graphql.ts'
import { createErrorFinder, type ShownError } from '../support/possible-errors.ts'
import { startService } from '../support/service.ts'

/** The number of requests per run. Set `PARITY_DOCUMENTS=100000` for a long run. */
const documents = Number(process.env.PARITY_DOCUMENTS ?? 1000)

const { build, client, pool } = await startService()
/** With these parts of a service, graphql-js runs the resolvers without a transport. */
const config = readConfig({ RATE_LIMIT_PER_MINUTE: '1000000' })
const { gateway, close } = await openGateway(config, { pool, rates: pool, standbys: [] }, client.app)
afterFile(close)

const foreignId = await build.tenant()
const tenantId = await build.tenant({ name: 'The "Old" Mill', parent_id: foreignId })
await build.tenant({ parent_id: tenantId })
const products = [
  await build.product(tenantId, { price: '12.50', image_urls: ['a', 'b'] }),
  await build.product(tenantId),
]
await build.variant(products[0]!, { price: '9.90' })
await build.category(tenantId, products)
const voucherId = await build.voucher(tenantId, { currency: 'GBP', current_balance: '0.07' })
await build.customer(tenantId, { email: 'ada@example.com' })
await build.voucher(tenantId, { product_id: products[0]! })
await build.voucher(tenantId, { product_id: await build.product(foreignId) })
await build.voucher(foreignId)
const permissions = permissionNames.filter(name => name !== 'view_orders')

/** The names of fields whose values differ between answers. */
const changingFields = 'serverTime cursor nextCursor startCursor endCursor rate redemptionToken serviceId'

const ids = [tenantId, tenantId, tenantId, products[0], voucherId, foreignId].map(String)

/** The values for arguments and variables, by their type. An `Int` that is a text is not valid in a variable. */
const values: Record<string, unknown[]> = {
  ID: [...ids, '6', 'x', globalId('Tenant', tenantId), globalId('Tenant', foreignId), products[0]],
  Int: [0, 1, 2, 100, -1],
  String: ['', 'x', 'after'],
  DateTime: ['2020-01-01T00:00:00Z', 'never'],
  Boolean: [true, false],
  RemovalResource: ['TENANT', 'CATALOG_VOUCHER'],
  ListName: ['TENANTS', 'PURCHASED_VOUCHERS'],
}

const makeDocument = (draw: fc.GeneratorValue) =>
  new DocumentMaker(draw, schema, { values, without: new Set(changingFields.split(' ')) }).make()

/** Creates a caller: a token, and a function that creates contexts like the contexts of its requests. */
async function createCaller(tenants: number[], permissions: Permission[]) {
  const { id, secret } = await build.token(tenants, { permissions, name: 'Sync' })
  const grants = tenants.map(tenantId => ({ tenantId, withDescendants: false }))
  const caller = {
    token: { id, name: 'Sync', permissions, tenants: grants, rateLimit: null, expiresAt: null },
    ...{ address: '127.0.0.1', requestId: 'test', isWaiting: () => true },
    lookUp: () => ({ status: 'unknown' as const }),
    ...{ rate: gateway.rate, rateKey: 'test', window: { used: 1, resetsIn: 60_000 } },
    ...{ cost: 0, rejectedCost: 0, requestedCost: 1 },
  }
  return { secret, createContext: () => createContext(gateway, { ...caller }) }
}
type Caller = Awaited<ReturnType<typeof createCaller>>
const mostAllowed = await createCaller([tenantId], permissions)
// The tenants of the second caller are in the order in which the database returns them.
const callers = [mostAllowed, await createCaller([foreignId, tenantId], []), await createCaller([], permissions)]
const findPossibleErrors = createErrorFinder(schema)

async function executeByGraphql(
  { query, variables, operationName }: GeneratedDocument & { operationName?: string },
  contextValue: Context,
) {
  const document = parse(query)
  const options = { maxCoercionErrors: 10 }
  const asked = { schema, document, contextValue, operationName, variableValues: variables }
  return execute({ ...asked, hideSuggestions: true, options })
}

/** Checks the data and the errors of an answer against the answer of graphql-js. */
async function expectSame(
  { query, variables }: GeneratedDocument,
  createContext: () => Context,
  { data, errors = [] }: ExecutionResult,
  answers: readonly { data: string; errors: readonly ShownError[] }[],
) {
  for (const answer of answers) expect(answer.data, query).toBe(JSON.stringify(data))
  if (errors.length === 0 && answers.every(answer => answer.errors.length === 0)) return
  const document = parse(query)
  const possible = await findPossibleErrors({ document, contextValue: createContext(), variableValues: variables })
  for (const answer of [{ errors }, ...answers]) expect(possible.check(data, answer.errors), query).toBeNull()
}

/** Returns the start of a message, because the service omits the middle of a long message. */
const startOf = ({ message }: { message: string }) => message.slice(0, 100)

interface Body {
  data?: unknown
  errors?: ShownError[]
  extensions: { cost: { requested: number; actual: number } }
}

/** Checks that the service answers as graphql-js does, from the first to the tenth request, at the announced cost. */
async function expectSameOfService(
  generated: GeneratedDocument & { operationName?: string },
  { secret, createContext }: Caller = mostAllowed,
): Promise<'data' | 'no data'> {
  const { query, variables, operationName } = generated
  const bodies: Body[] = []
  const statuses = new Set<number>()
  for (let time = 0; time < 10; time++) {
    const answer = await client.post(secret, { query, variables, operationName })
    bodies.push(answer.body)
    statuses.add(answer.status)
  }
  expect(statuses.size, query).toBe(1)
  const costs = new Set(bodies.map(({ extensions: { cost } }) => `${cost.requested} ${cost.actual}`))
  expect([...costs], query).toHaveLength(1)
  const { requested, actual } = bodies[0]!.extensions.cost
  expect(actual, query).toBeLessThanOrEqual(requested)
  const errors = validate(schema, parse(query), undefined, { maxErrors: 10, hideSuggestions: true })
  const expected: ExecutionResult = errors.length > 0 ? { errors } : await executeByGraphql(generated, createContext())
  if (expected.data === undefined) {
    for (const { data, errors = [] } of bodies) {
      expect(data, query).toBeUndefined()
      expect(errors.map(startOf).sort(), query).toEqual((expected.errors ?? []).map(startOf).sort())
    }
    return 'no data'
  }
  const answers = bodies.map(({ data, errors = [] }) => ({ data: JSON.stringify(data), errors }))
  await expectSame(generated, createContext, expected, answers)
  return 'data'
}

test('from the first to the tenth request, the service returns what graphql-js returns', async () => {
  const count = { data: 0, 'no data': 0 }
  await fc.assert(
    fc.asyncProperty(fc.gen(), fc.constantFrom(...callers), async (draw, caller) => {
      const generated = makeDocument(draw)
      // graphql-js has no limits.
      const { errors = [] } = (await client.graphql(caller.secret, generated.query, generated.variables)).body
      const limited = /limit of \d+ exceeded|2000 tokens|The complexity of the query is/
      fc.pre(!errors.some(({ message }: ShownError) => limited.test(message)))
      count[await expectSameOfService(generated, caller)]++
    }),
    { numRuns: Math.ceil(documents / 10), endOnFailure: true },
  )
  expect(count.data).toBeGreaterThan(documents / 250)
}, 600_000)

const two = 'query A { viewer { name } } query B { viewer { permissions } }'
const ofTenant = (selection: string) => `{ tenant(id: ${tenantId}) { ${selection} } }`
const resources = `query ($r: [RemovalResource!]) ${ofTenant('removals(resources: $r) { nodes { resource } totalCount }')}`

test.each<[string, string, Record<string, unknown>?, string?]>([
  ['a default that is a number', 'query ($t: ID! = 6) { tenant(id: $t) { name } }'],
  ['a variable named constructor', 'query ($constructor: ID!) { tenant(id: $constructor) { name } }'],
  ['an alias named __proto__', '{ __proto__: viewer { name } }'],
  ['an alias named then, below a list', ofTenant('catalogVouchers { nodes { then: title variants { then: title } } }')],
  ['a fragment named __proto__', '{ viewer { ...__proto__ } } fragment __proto__ on Viewer { name }'],
  ['fragments that are properties of any object', '{ ...constructor ...__proto__ viewer { ...valueOf } }'],
  ['a type that is a property of any object', '{ viewer { ... on constructor { name } } }'],
  ['an enum value that is none', resources, { r: ['NOTHING'] }],
  ['one operation of several', two, {}, 'B'],
])('the service returns what graphql-js returns: %s', async (_, query, variables = {}, operationName) => {
  await expectSameOfService({ query, variables, ...(operationName ? { operationName } : {}) })
})

test('without an operation name, none of several operations runs', async () => {
  for (const operationName of [null, '', '\nA', 'constructor']) {
    const { body } = await client.post(mostAllowed.secret, { query: two, operationName })
    expect(body.data, String(operationName)).toBeUndefined()
  }
})
