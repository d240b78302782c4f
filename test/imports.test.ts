/** Imports go down only (docs/architecture.md). Biome finds circles of files (`noImportCycles`). */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { expect, it } from 'vitest'

/**
 * The folders and files of src/, from the top. Each imports from lines below its own: folders of one line know nothing of each
 * other. `db`, `domain` and `http` stand for the files that are in none of their folders.
 */
const order = `
  main
  cli
  demo import metrics server
  admin dashboard docs export graphql-http landing
  webhook
  rest
  background-jobs create-server open-gateway
  doctor pages
  http/limits
  http
  executor
  graphql
  domain/access
  domain/event
  domain/figures
  domain/record
  domain/search
  domain/tenant
  domain/token
  domain/administrator
  domain/rate domain/sync
  openid staging
  adoption
  domain/paging domain/secret projection
  domain/value
  domain
  tracing
  failure-log log-destination process-limits
  log
  db/migration
  db/standby db/connection db/mapping
  db/statement db/row
  config db json-line
  channels reasons
  async reason-list redis version`

const lines = order.trim().split('\n')
const lineOf = new Map(lines.flatMap((line, index) => line.match(/\S+/g)!.map(name => [name, index] as const)))

/** Returns the name that the order has for a file of src/. */
const nameOf = (file: string): string =>
  /^(?:db|domain|http)\/[a-z]+(?=\/)/.exec(file)?.[0] ?? /^[a-z-]+/.exec(file)?.[0] ?? file

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => /\.tsx?$/.test(file))
const imports = files.flatMap(file => {
  const paths = readFileSync(join('src', file), 'utf8').matchAll(/\b(?:from|import)\b[ (]'(\.[^']+)'/g)
  return [...paths].map(([, path = '']) => ({ file, imported: join(dirname(file), path) }))
})

it('every folder and file of src has a place in the order, and only these', () => {
  const names = new Set(imports.flatMap(({ file, imported }) => [nameOf(file), nameOf(imported)]))
  expect([...names].sort()).toEqual([...lineOf.keys()].sort())
})

it('imports go down only', () => {
  const place = (file: string) => lineOf.get(nameOf(file)) ?? -1
  const wrong = imports.filter(
    ({ file, imported }) => nameOf(file) !== nameOf(imported) && place(file) >= place(imported),
  )
  expect(wrong).toEqual([])
})

it('a transport that answers from the schema imports nothing of the database', () => {
  const wrong = imports.filter(
    ({ file, imported }) => /^(rest|export|graphql-http)$/.test(nameOf(file)) && imported.startsWith('db/'),
  )
  expect(wrong).toEqual([])
})

it('the commands load the schema of GraphQL only when they need it, because it takes as long as all else', () => {
  const commands = readFileSync('src/cli/program.ts', 'utf8').matchAll(/import\('\.\/([^']+)'\)/g)
  const loaded = new Set([...commands].map(([, path = '']) => join('cli', path)))
  for (const file of loaded) {
    const text = readFileSync(join('src', file), 'utf8')
    for (const [, path = ''] of text.matchAll(/^import (?!type )[^']*'(\.[^']+)'/gm))
      loaded.add(join(dirname(file), path))
  }
  expect(loaded.size).toBeGreaterThan(80)
  expect([...loaded].filter(file => nameOf(file) === 'graphql')).toEqual([])
})

/** What our rules of lint (tools/*.grit) do not see. */
it.each([
  ['an export without a doc comment as its first statement', /^(?:\s|\/\/.*\n)*export (?!const|type|interface)/],
  ['a doc comment of an export that begins with a tag', /\/\*\*[\s*]*@(?:(?!\*\/)[\s\S])*\*\/\s*export /],
])('no source file has %s', (_, fault) => {
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(name => fault.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})
