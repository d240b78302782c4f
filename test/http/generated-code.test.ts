import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { serve } from '../support/process.ts'

const router = "Fastify's router: it compiles our own routes"
const schemas = "Fastify's schemas of routes: our routes have none"
const global = 'a constant text that returns the global object'

/** Files that may compile text, and the reasons why no text of a caller reaches them. */
const allowed: Record<string, string> = {
  'find-my-way/lib/compiler.js': router,
  'find-my-way/lib/constrainer.js': router,
  'find-my-way/lib/handler-storage.js': router,
  'find-my-way/lib/node.js': router,
  'fast-json-stringify/index.js': schemas,
  '@fastify/fast-json-stringify-compiler/standalone.js': schemas,
  'ajv/dist/compile/index.js': schemas,
  'ajv/dist/compile/jtd/parse.js': schemas,
  'ajv/dist/compile/jtd/serialize.js': schemas,
  'zod/v4/core/util.js': 'zod checks whether compiling text is allowed',
  'zod/v4/core/doc.js': 'zod compiles the shapes of our own schemas',
  'zod/v4/core/compile.js': 'zod compiles the shapes of our own schemas',
  '@fastify/csrf/index.js': 'a function that is generated once, from the length of a salt',
  'lodash/_root.js': global,
  'lodash.get/index.js': global,
}

interface Script {
  url: string
  compiledBy: string
}

const log = join(createDirectory(), 'scripts')
const readScripts = (): Script[] =>
  readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

/** Returns the scripts that were compiled from text. WebAssembly, which Node itself uses, does not count. */
const findGenerated = () => readScripts().filter(({ url }) => !/^(file|node|wasm):/.test(url))

const inPackages = (url: string) => url.replace(/^.*\/node_modules\//, '')

const { build, platform, url } = await createDatabase()
const { secret } = await build.token([])
await platform`create extension if not exists pg_stat_statements`
const loader = fileURLToPath(new URL('../support/script-log.mjs', import.meta.url))
const service = await serve({
  DATABASE_URL: url,
  RATE_LIMIT_PER_MINUTE: '1000000',
  SCRIPT_LOG: log,
  NODE_OPTIONS: `--import ${loader}`,
})
const { origin } = new URL(service.restAddress)
const headers = { accept: 'application/json', authorization: `Bearer ${secret}`, 'content-type': 'application/json' }

// These requests load the modules that are imported at first use.
const pages = ['/graphiql', '/admin', '/admin/login', '/dashboard', '/docs', '/docs/errors', '/docs/reference']
for (const path of ['/', ...pages, '/livez', '/readyz', '/nothing']) {
  await fetch(origin + path, { headers: { accept: 'text/html' } })
}
for (const path of ['/tenants', '/tenants/1/catalog/vouchers', '/nothing']) {
  await fetch(service.restAddress + path, { headers })
}
await ask('{ viewer { name } tenants { totalCount } }')

async function ask(query: string, variables: Record<string, unknown> = {}) {
  const body = JSON.stringify({ query, variables })
  const answer = await (await fetch(`${origin}/graphql`, { method: 'POST', headers, body })).text()
  // The cost is removed, because the remaining rate differs between answers.
  return answer.replace(/,"extensions":\{"cost":\{[^}]*\}\}/, '')
}

/** Matches code that compiles text or loads `node:vm`. */
const compilePattern = /\bnew (Async)?(Generator)?Function\b|(?<![.\w$])(Function|eval)\(|["'](node:)?vm["']/

test('only listed files of the service can compile text', () => {
  const files = new Set(
    readScripts()
      .filter(({ url }) => url.startsWith('file:'))
      .map(({ url }) => fileURLToPath(url))
      .filter(file => existsSync(file) && /\.[cm]?js$/.test(file)),
  )
  expect(files.size).toBeGreaterThan(500)
  const withoutComments = (file: string) => readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm, '')
  const compilers = [...files].filter(file => compilePattern.test(withoutComments(file))).map(inPackages)
  expect(compilers.filter(file => !Object.hasOwn(allowed, file))).toEqual([])
})

test('only listed files compiled text when the service ran', () => {
  const compilers = new Set(findGenerated().map(({ compiledBy }) => inPackages(compiledBy)))
  expect(compilers.size).toBeGreaterThan(0)
  expect([...compilers].filter(file => !Object.hasOwn(allowed, file))).toEqual([])
})

test('the service lets V8 compile the classes of the driver when it starts', async () => {
  const sent = await platform`
    select from pg_stat_statements join pg_database on pg_database.oid = dbid
    where datname = current_database() and query ~ 'driver[.]compile'`
  expect(sent).toHaveLength(1)
})

/** Returns documents with the literal in each place where one is allowed. */
const documentsWith = (literal: string) => [
  `{ tenant(id: ${literal}) { name } }`,
  `{ tenants(after: ${literal}) { totalCount } }`,
  `{ nodes(ids: [${literal}, "x"]) { id } }`,
  `query ($t: ID = ${literal}) { tenant(id: $t) { name } }`,
  `query ($i: ResolveVoucherInput = { tenantId: "1", qrToken: ${literal} }) { viewer { name } ... @skip(if: true) { viewer { name } } }`,
  `mutation { resolveVoucher(input: { tenantId: "1", voucherReference: ${literal} }) { status } }`,
  `{ viewer { name @include(if: ${literal}) } }`,
  `{ tenant(id: 1) { removals(resources: ${literal}) { totalCount } } }`,
]

test("never compiles a caller's text, even when requests repeat", async () => {
  const before = findGenerated().length
  for (const value of ['process.exit(9)', '");process.exit(9);("', "',process.exit(9),'", '`;process.exit(9);`']) {
    const queries = [JSON.stringify(value), `"""${value}"""`].flatMap(documentsWith)
    const askEach = () => Promise.all(queries.map(query => ask(query, { t: value })))
    const first = await askEach()
    for (let repeat = 0; repeat < 6; repeat++) expect(await askEach()).toEqual(first)
  }
  const names = ['constructor', '__proto__', 'toString', 'x);process.exit(9);(']
  for (const name of names) await ask('{ viewer { name } }', { [name]: 'process.exit(9)' })
  expect(await ask('{ __typename }')).toBe('{"data":{"__typename":"Query"}}')
  expect(findGenerated().length).toBe(before)
  expect(service.child.exitCode).toBeNull()
}, 60_000)
