import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { buildServer } from '../../src/server.ts'
import { type Client, codeOf, createApp } from '../support/app.ts'
import { createDirectory } from '../support/directory.ts'
import { startService } from '../support/service.ts'

const { build, database, pool } = await startService()
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

const anyClient = await createApp(database, { GRAPHQL_DOCUMENTS_PATH: path })
const trusted = await createApp(database, { GRAPHQL_DOCUMENTS: 'trusted', GRAPHQL_DOCUMENTS_PATH: path })
const modes = [
  ['any', anyClient],
  ['trusted', trusted],
] as const

const json = 'application/graphql-response+json'
const post = (client: Client, body: unknown, headers: Record<string, string> = {}) =>
  client.post(secret, body, { accept: json, ...headers })

function get(client: Client, parameters: Record<string, string>) {
  const headers = { accept: json, authorization: `Bearer ${secret}` }
  return client.ask({ method: 'GET', url: `/graphql?${new URLSearchParams(parameters)}`, headers })
}

const variables = { tenant: String(tenantId), first: 5 }
const documentId = `sha256:${hashOf(page)}`
const query = '{ viewer { name } }'
/** Returns the extension in which Apollo sends the hash of a document. */
const apolloExtension = (hash: string) => ({ persistedQuery: { version: 1, sha256Hash: hash } })

describe.each(modes)('with GRAPHQL_DOCUMENTS=%s', (mode, client) => {
  test.each([
    ['documentId', { documentId, operationName: 'Products', variables }],
    ['documentId with null', { query: null, documentId, operationName: 'Products', variables, extensions: null }],
    ["Apollo's extension", { operationName: 'Products', variables, extensions: apolloExtension(hashOf(page)) }],
  ])('a document of the operator runs: %s', async (_form, body) => {
    // From the second request on, the document is cached.
    for (let time = 0; time < 3; time++) {
      const { status, body: answer } = await post(client, body)
      expect(status).toBe(200)
      expect(answer.data).toEqual({ tenant: { catalogVouchers: { nodes: [{ title: 'A day at the mill' }] } } })
      expect(answer.extensions.cost).toMatchObject({ requested: 1, actual: 1 })
    }
  })

  test('a query runs by GET, a mutation does not', async () => {
    const name = { documentId, operationName: 'Name', variables: JSON.stringify({ tenant: variables.tenant }) }
    expect((await get(client, name)).body.data).toEqual({ tenant: { name: 'The Old Mill' } })
    const mutation = { documentId: `sha256:${hashOf(resolve)}`, variables: JSON.stringify(variables) }
    const { status, headers } = await get(client, mutation)
    expect([status, headers.allow]).toEqual([405, expect.stringContaining('POST')])
  })

  test('documents of manifests and of the pages of the service run', async () => {
    const own = Object.keys(JSON.parse(readFileSync('schema/trusted-documents.json', 'utf8')))
    expect(own.length).toBeGreaterThan(0)
    for (const id of [...own, ...[permissions, rate].map(text => `sha256:${hashOf(text)}`)]) {
      // Without variables, the document is found, but may fail.
      expect((await post(client, { documentId: id })).text).not.toContain('PERSISTED')
    }
  })

  test.each([
    ['an unknown hash', `sha256:${hashOf(query)}`],
    ['capital letters', `sha256:${hashOf(permissions).toUpperCase()}`],
    ['no prefix', hashOf(permissions)],
    ['a property of objects', 'constructor'],
    ['no text', ''],
  ])('an id that names no document is a request error: %s', async (_what, id) => {
    const { status, body } = await post(client, { documentId: id })
    expect(status).toBe(400)
    expect(body).not.toHaveProperty('data')
    const message = 'No trusted document has this id: sha256: and the SHA-256 of its text in lower-case hexadecimal.'
    expect(body.errors).toEqual([{ message, extensions: { code: 'PERSISTED_DOCUMENT_NOT_FOUND' } }])
    if (id !== '') expect((await get(client, { documentId: id })).status).toBe(400)
  })

  test('the error for an unknown hash has the message that clients of Apollo and urql expect', async () => {
    const extensions = apolloExtension(hashOf(query))
    const expected = {
      any: { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } },
      trusted: { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } },
    }[mode]
    const answers = [await post(client, { extensions }), await get(client, { extensions: JSON.stringify(extensions) })]
    for (const { status, body } of answers) expect([status, body.errors]).toEqual([400, [expected]])
  })

  test('the limits also apply to trusted documents', async () => {
    const much = { tenant: 'x', first: 50_000 }
    const { status, body } = await post(client, { documentId, operationName: 'Products', variables: much })
    expect(status).toBe(400)
    expect(body.errors[0].message).toContain('The complexity of the query is')
  })
})

test('with GRAPHQL_DOCUMENTS=any, a query runs, even together with the hash of another document', async () => {
  const { body } = await post(anyClient, { query, extensions: apolloExtension(hashOf(page)) })
  expect(body.data).toEqual({ viewer: { name: 'Explorer' } })
  const both = await post(anyClient, { query, documentId })
  expect([both.status, both.body.errors[0].message]).toEqual([400, 'Give either query or documentId, not both.'])
})

test.each([
  ['POST', () => post(trusted, { query })],
  ['the text of a trusted document', () => post(trusted, { query: permissions })],
  ['with the documentId of the same text', () => post(trusted, { query: page, documentId })],
  ["with Apollo's hash", () => post(trusted, { query, extensions: apolloExtension(hashOf(page)) })],
  ['a parameter twice', () => post(trusted, `{"documentId":"${documentId}","query":null,"query":"${query}"}`)],
  ['GET with a documentId', () => get(trusted, { query, documentId })],
])('with GRAPHQL_DOCUMENTS=trusted, the text of a query does not run: %s', async (_form, ask) => {
  // A service that accepts the text gets the text first, so that a shared cache would contain it.
  await anyClient.graphql(secret, query)
  for (let time = 0; time < 3; time++) {
    const answer = await ask()
    expect([answer.status, codeOf(answer)]).toEqual([403, 'DOCUMENT_NOT_TRUSTED'])
    expect(answer.body).not.toHaveProperty('data')
    expect(answer.body.extensions.cost).toMatchObject({ requested: 1, actual: 1 })
  }
})

test.each([
  ['a batch with a documentId', () => post(trusted, [{ documentId }, { query }])],
  ['only the text', () => post(trusted, query, { 'content-type': 'application/graphql' })],
  ['a documentId that is no string', () => post(trusted, { documentId: [documentId] })],
])('with trusted documents only, another form does not run: %s', async (_form, ask) => {
  const { status, body } = await ask()
  expect([400, 422]).toContain(status)
  expect(body).not.toHaveProperty('data')
  expect(body.errors).toHaveLength(1)
})

const start = (path: string) =>
  buildServer({ config: readConfig({ LOG_LEVEL: 'silent', GRAPHQL_DOCUMENTS_PATH: path }), pool: pool })
const inDirectory = (files: Record<string, string>) => {
  const folder = createDirectory()
  for (const [name, text] of Object.entries(files)) write(name, text, folder)
  return folder
}

test('the service does not start, and lists all documents that cannot run', async () => {
  const folder = inDirectory({
    'a-syntax.graphql': 'query {\n  viewer { name ',
    'b-field.gql': '{\n  viewer { nothing }\n  tenants { nothing }\n}',
    'c-fragment.graphql': 'fragment F on Viewer { name }',
    'd-cost.graphql': '{ tenants(first: 100) { nodes { catalogVouchers(first: 100) { nodes { title slug } } } } }',
    'f-manifest.json': JSON.stringify({ [hashOf(rate)]: permissions }),
    'h-broken.json': '{',
    'i-good.graphql': permissions,
    'ignored.txt': 'not read',
  })
  const message: string = await start(folder).then(
    () => '',
    error => error.message,
  )
  const lines = message.split('\n')
  expect(lines.filter(line => !/^DOCUMENT_INVALID: .* or change GRAPHQL_DOCUMENTS_PATH\.$/.test(line))).toEqual([])
  for (const expected of [
    /a-syntax\.graphql: Syntax Error: .* \(line 2, column \d+\)/,
    /b-field\.gql: Cannot query field "nothing" on type "TenantConnection"\. .*\(line 3, column 13\)/,
    /c-fragment\.graphql: /,
    /d-cost\.graphql: The complexity of the query is \d+; at most 25000 is allowed/,
    /f-manifest\.json, .*: The id must be the SHA-256 of the text, sha256:/,
    /h-broken\.json: It is no JSON object of documents by their id\./,
  ]) {
    expect(lines).toContainEqual(expect.stringMatching(expected))
  }
  expect(message).not.toMatch(/i-good|ignored/)
})

test('the service does not start when the path does not exist or the directory has no documents', async () => {
  await expect(start('/nowhere')).rejects.toThrow('/nowhere: It cannot be read (ENOENT).')
  await expect(start(inDirectory({ 'readme.txt': 'none' }))).rejects.toThrow('No document was found.')
})
