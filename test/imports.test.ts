/**
 * Tests that every import leads to a lower layer (docs/architecture.md). Biome finds import cycles (`noImportCycles`).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { expect, it } from 'vitest'

/**
 * The folders and files of src/, the top layer first. A folder imports only from lines below its own line; folders of
 * the same line do not import each other. `db`, `domain` and `http` stand for the files directly in these folders.
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

/** Returns the name in the order to which a file of src/ belongs. */
const nameOf = (file: string): string =>
  /^(?:db|domain|http)\/[a-z]+(?=\/)/.exec(file)?.[0] ?? /^[a-z-]+/.exec(file)?.[0] ?? file

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => /\.tsx?$/.test(file))
const imports = files.flatMap(file => {
  const paths = readFileSync(join('src', file), 'utf8').matchAll(/\b(?:from|import)\b[ (]'(\.[^']+)'/g)
  return [...paths].map(([, path = '']) => ({ file, imported: join(dirname(file), path) }))
})

it('the order contains every folder and file of src, and no other name', () => {
  const names = new Set(imports.flatMap(({ file, imported }) => [nameOf(file), nameOf(imported)]))
  expect([...names].sort()).toEqual([...lineOf.keys()].sort())
})

it('every import leads to a lower line of the order', () => {
  const place = (file: string) => lineOf.get(nameOf(file)) ?? -1
  const wrong = imports.filter(
    ({ file, imported }) => nameOf(file) !== nameOf(imported) && place(file) >= place(imported),
  )
  expect(wrong).toEqual([])
})

it('a transport that answers from the schema imports nothing from src/db', () => {
  const wrong = imports.filter(
    ({ file, imported }) => /^(rest|export|graphql-http)$/.test(nameOf(file)) && imported.startsWith('db/'),
  )
  expect(wrong).toEqual([])
})

it('a command loads the GraphQL schema only when needed, because the load takes as long as all other modules', () => {
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

/** Rules that the lint rules in tools/*.grit cannot check. */
it.each([
  ['an export without a doc comment as its first statement', /^(?:\s|\/\/.*\n)*export (?!const|type|interface)/],
  ['a doc comment of an export that begins with a tag', /\/\*\*[\s*]*@(?:(?!\*\/)[\s\S])*\*\/\s*export /],
])('no source file has %s', (_, fault) => {
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(name => fault.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})
