import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, validate } from 'graphql'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { schema } from '../../src/graphql/schema.ts'
import { buildServer } from '../../src/server.ts'
import { type Answer, type Client, codeOf, createApp } from '../support/app.ts'
import { createDirectory } from '../support/directory.ts'
import { startService } from '../support/service.ts'

const { build, database } = await startService()
const tenantId = await build.tenant({ name: 'The Old Mill' })
await build.product(tenantId, { title: 'A day at the mill' })
const { secret } = await build.token([tenantId], { name: 'Explorer' })

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const write = (name: string, text: string, directory = path) => {
  writeFileSync(join(directory, name), text)
  return join(directory, name)
}
const path = createDirectory()

const page = `# A page of products.
query Products($tenant: ID!, $first: Int) { tenant(id: $tenant) { catalogVouchers(first: $first) { nodes { title } } } }
query Name($tenant: ID!) { tenant(id: $tenant) { name } }
`
const permissions = '{ viewer { permissions } }'
const rate = '{ viewer { rate { limit } } }'
const resolve = `mutation ($tenant: ID!) { resolveVoucher(input: { tenantId: $tenant, voucherReference: "x" }) { status } }`
write('products.graphql', page)
write('more.json', JSON.stringify({ [`sha256:${hashOf(permissions)}`]: permissions, [hashOf(resolve)]: resolve }))
const operations = [{ id: hashOf(rate), name: 'Rate', type: 'query', body: rate }]
write('apollo.json', JSON.stringify({ format: 'apollo-persisted-query-manifest', version: 1, operations }))

const any = await createApp(database, { GRAPHQL_DOCUMENTS_PATH: path })
const trusted = await createApp(database, { GRAPHQL_DOCUMENTS: 'trusted', GRAPHQL_DOCUMENTS_PATH: path })
const modes = [
  ['any', any],
  ['trusted', trusted],
] as const

const json = 'application/graphql-response+json'
const post = (client: Client, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  client.post(secret, body, { accept: json, ...headers })

const get = (client: Client, parameters: Record<string, string>): Promise<Answer> =>
  client.ask({
    method: 'GET',
    url: `/graphql?${new URLSearchParams(parameters)}`,
    headers: { accept: json, authorization: `Bearer ${secret}` },
  })

const variables = { tenant: String(tenantId), first: 5 }
const documentId = `sha256:${hashOf(page)}`
const name = { documentId, operationName: 'Name', variables: { tenant: variables.tenant } }
const query = '{ viewer { name } }'
/** Apollo's form of an id. */
const apollo = (hash: string) => ({ persistedQuery: { version: 1, sha256Hash: hash } })

describe.each(modes)('with GRAPHQL_DOCUMENTS=%s', (mode, client) => {
  test.each([
    ['documentId', { documentId, operationName: 'Products', variables }],
    ['documentId with null', { query: null, documentId, operationName: 'Products', variables, extensions: null }],
    ["Apollo's extension", { operationName: 'Products', variables, extensions: apollo(hashOf(page)) }],
  ])('a document of the operator runs: %s', async (_form, body) => {
    // From the second time on the document is cached.
    for (let time = 0; time < 3; time++) {
      const { status, body: answer } = await post(client, body)
      expect(status).toBe(200)
      expect(answer.data).toEqual({ tenant: { catalogVouchers: { nodes: [{ title: 'A day at the mill' }] } } })
      expect(answer.extensions.cost).toMatchObject({ requested: 1, actual: 1 })
    }
  })

  test('a document runs by GET, a mutation does not', async () => {
    for (let time = 0; time < 2; time++) {
      const byGet = { ...name, variables: JSON.stringify(name.variables) }
      expect((await get(client, byGet)).body.data).toEqual({ tenant: { name: 'The Old Mill' } })
      const mutation = { documentId: `sha256:${hashOf(resolve)}`, variables: JSON.stringify(variables) }
      const { status, headers } = await get(client, mutation)
      expect([status, headers.allow]).toEqual([405, expect.stringContaining('POST')])
    }
  })

  test.each([permissions, rate])('documents of manifests run: %s', async text => {
    const { status, body } = await post(client, { documentId: `sha256:${hashOf(text)}` })
    expect([status, body.data]).toEqual([200, { viewer: expect.any(Object) }])
  })

  test('documents of our own pages run', async () => {
    const own = JSON.parse(readFileSync('schema/trusted-documents.json', 'utf8'))
    expect(Object.keys(own).length).toBeGreaterThan(0)
    for (const [id, text] of Object.entries<string>(own)) {
      expect(id).toBe(`sha256:${hashOf(text)}`)
      expect(validate(schema, parse(text))).toEqual([])
      // Without variables the document may fail, but it is found.
      expect((await post(client, { documentId: id })).text).not.toContain('PERSISTED')
    }
  })

  test.each([
    ['an unknown hash', `sha256:${hashOf(query)}`],
    ['capital letters', `sha256:${hashOf(permissions).toUpperCase()}`],
    ['another prefix', `md5:${hashOf(permissions)}`],
    ['no prefix', hashOf(permissions)],
    ['a property of objects', 'constructor'],
    ['no text', ''],
  ])('an id that names no document is a request error: %s', async (_what, id) => {
    for (const ask of [() => post(client, { documentId: id }), () => post(client, { documentId: id, variables })]) {
      const { status, body } = await ask()
      expect(status).toBe(400)
      expect(body).not.toHaveProperty('data')
      expect(body.errors).toEqual([
        {
          message: 'No trusted document has this id: sha256: and the SHA-256 of its text in lower-case hexadecimal.',
          extensions: { code: 'PERSISTED_DOCUMENT_NOT_FOUND' },
        },
      ])
    }
    const plain = await post(client, { documentId: id }, { accept: 'application/json' })
    expect([plain.status, codeOf(plain)]).toEqual([200, 'PERSISTED_DOCUMENT_NOT_FOUND'])
    if (id !== '') expect((await get(client, { documentId: id })).status).toBe(400)
  })

  test('an unknown hash has the message that clients of Apollo and urql read', async () => {
    const extensions = apollo(hashOf(query))
    const expected = {
      any: { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } },
      trusted: { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } },
    }[mode]
    for (const answer of [
      await post(client, { extensions }),
      await get(client, { extensions: JSON.stringify(extensions) }),
    ]) {
      expect([answer.status, answer.body.errors]).toEqual([400, [expected]])
    }
    const plain = await post(client, { extensions }, { accept: 'application/json' })
    expect([plain.status, plain.body.errors]).toEqual([200, [expected]])
  })

  test.each([5, true, {}, ['x']])('a documentId that is no string is a request error: %j', async id => {
    const { status, body } = await post(client, { documentId: id })
    expect([status, body.errors[0].message]).toEqual([400, 'The documentId must be a string.'])
  })

  test('the limits hold for a trusted document too', async () => {
    const much = { tenant: 'x', first: 50_000 }
    const { status, body } = await post(client, { documentId, operationName: 'Products', variables: much })
    expect(status).toBe(400)
    expect(body.errors[0].message).toContain('The complexity of the query is')
  })
})

test('with any documents, a query runs, even together with the hash of another document', async () => {
  for (let time = 0; time < 3; time++) {
    const { body } = await post(any, { query, extensions: apollo(hashOf(page)) })
    expect(body.data).toEqual({ viewer: { name: 'Explorer' } })
  }
  const { status, body } = await post(any, { query, documentId })
  expect([status, body.errors[0].message]).toEqual([400, 'Give either query or documentId, not both.'])
})

describe('with trusted documents only, a query does not run', () => {
  test.each([
    ['POST', () => post(trusted, { query })],
    ['POST with variables', () => post(trusted, { query, variables: {} })],
    ['the text of a trusted document', () => post(trusted, { query: permissions })],
    ['with a documentId', () => post(trusted, { query, documentId })],
    ['with the documentId of the same text', () => post(trusted, { query: page, documentId })],
    ["with Apollo's hash", () => post(trusted, { query, extensions: apollo(hashOf(page)) })],
    ['an empty query', () => post(trusted, { query: '' })],
    ['a query that is no text', () => post(trusted, { query: 5 })],
    ['a query that is not valid', () => post(trusted, { query: '{ nothing' })],
    ['a parameter twice', () => post(trusted, `{"documentId":"${documentId}","query":null,"query":"${query}"}`)],
    ['GET', () => get(trusted, { query })],
    ['GET with a documentId', () => get(trusted, { query, documentId })],
    ['introspection', () => post(trusted, { query: '{ __schema { types { name } } }' })],
    ['a mutation', () => post(trusted, { query: resolve, variables })],
  ])('%s', async (_form, ask) => {
    // The same text is sent to a service that accepts it, and then again to this one.
    await any.graphql(secret, query)
    for (let time = 0; time < 3; time++) {
      const { status, body } = await ask()
      expect(status).toBe(403)
      expect(body.errors).toEqual([
        {
          message: 'Only trusted documents run here: send the documentId of one instead of a query.',
          extensions: { code: 'DOCUMENT_NOT_TRUSTED' },
        },
      ])
      expect(body).not.toHaveProperty('data')
      expect(body.extensions.cost).toMatchObject({ requested: 1, actual: 1 })
    }
  })

  test.each([
    ['a batch', () => post(trusted, [{ query }])],
    ['a batch with a documentId', () => post(trusted, [{ documentId }, { query }])],
    ['a form', () => post(trusted, `query=${query}`, { 'content-type': 'application/x-www-form-urlencoded' })],
    ['the text alone', () => post(trusted, query, { 'content-type': 'application/graphql' })],
    ['graphql+json', () => post(trusted, { query }, { 'content-type': 'application/graphql+json' })],
    ['no document', () => post(trusted, {})],
    ['no parameters', () => get(trusted, {})],
    ['a body that is not JSON', () => post(trusted, query)],
    ['a parameter in other case', () => post(trusted, { Query: query })],
  ])('nor in another form: %s', async (_form, ask) => {
    const { status, body } = await ask()
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(body).not.toHaveProperty('data')
    expect(body.errors).toHaveLength(1)
  })

  test('while REST does', async () => {
    expect((await trusted.rest(secret, '/tenants')).status).toBe(200)
    expect((await trusted.rest(secret, `/tenants/${tenantId}/catalog/vouchers`)).body.data).toHaveLength(1)
  })
})

describe('the start', () => {
  const start = (path: string) =>
    buildServer({ config: readConfig({ LOG_LEVEL: 'silent', GRAPHQL_DOCUMENTS_PATH: path }), pool: database.pool })
  const inDirectory = (files: Record<string, string>) => {
    const folder = createDirectory()
    for (const [name, text] of Object.entries(files)) write(name, text, folder)
    return folder
  }

  test('lists all documents that cannot run', async () => {
    const folder = inDirectory({
      'a-syntax.graphql': 'query {\n  viewer { name ',
      'b-field.gql': '{\n  viewer { nothing }\n  tenants { nothing }\n}',
      'c-fragment.graphql': 'fragment F on Viewer { name }',
      'd-cost.graphql':
        '{ tenants(first: 100) { nodes { catalogVouchers(first: 100) { nodes { title slug currency } } } } }',
      'f-manifest.json': JSON.stringify({ [hashOf(rate)]: permissions }),
      'g-form.json': JSON.stringify([permissions]),
      'h-broken.json': '{',
      'i-good.graphql': permissions,
      'ignored.txt': 'not read',
    })
    const error = await start(folder).catch((error: Error) => error)
    if (!(error instanceof Error)) throw new Error('The service has started.')
    const lines = error.message.split('\n')
    for (const line of lines)
      expect(line).toMatch(/^DOCUMENT_INVALID: .* Correct it, or change GRAPHQL_DOCUMENTS_PATH\.$/)
    for (const expected of [
      /a-syntax\.graphql: Syntax Error: .* \(line 2, column \d+\)/,
      /b-field\.gql: Cannot query field "nothing" on type "Viewer"\. .*\(line 2, column 12\)/,
      /b-field\.gql: Cannot query field "nothing" on type "TenantConnection"\. .*\(line 3, column 13\)/,
      /c-fragment\.graphql: /,
      /d-cost\.graphql: The complexity of the query is \d+; at most 25000 is allowed/,
      /f-manifest\.json, .*: The id must be the SHA-256 of the text, sha256:/,
      /g-form\.json: It is no JSON object of documents by their id\./,
      /h-broken\.json: It is no JSON object of documents by their id\./,
    ]) {
      expect(lines).toContainEqual(expect.stringMatching(expected))
    }
    expect(error.message).not.toMatch(/i-good|ignored/)
  })

  test.each([
    ['a path that does not exist', () => '/nowhere/at/all', /\/nowhere\/at\/all: It cannot be read \(ENOENT\)\./],
    ['a directory without documents', () => inDirectory({ 'readme.txt': 'none' }), /No document was found\./],
  ])('fails for %s', async (_what, path, message) => {
    await expect(start(path())).rejects.toThrow(message)
  })

  test('takes one file, too', async () => {
    const app = await start(write('one.graphql', permissions))
    await app.close()
  })
})
