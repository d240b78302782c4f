/** Our rules of lint (tools/*.grit), and how doc comments begin. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { createDirectory } from './support/directory.ts'

const declarations = [
  'export function sample(): void {}',
  'export async function sample(): Promise<void> {}',
  'export default function sample(): void {}',
  'export class Sample {}',
  'export abstract class Sample {}',
  'export enum Sample {\n  One,\n}',
  'export const sample = (): number => first',
  'export const sample = function (): number {\n  return first\n}',
  'export function sample(of: string): string\nexport function sample(of: unknown): unknown {\n  return of\n}',
  'export function sample(\n  of: string,\n): string\nexport function sample(of: unknown): unknown {\n  return of\n}',
]

/** Lints texts as files of the project. @returns the places that a rule finds, as `path:line` */
function lint(files: Record<string, string>, message: string): string[] {
  const root = createDirectory()
  const rules = ['doc-comments', 'no-transactions'].map(name => `tools/${name}.grit`)
  for (const path of ['biome.json', ...rules]) cpSync(path, join(root, path))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const command = ['lint', '--vcs-enabled=false', '--max-diagnostics=none', '--reporter=github', '.']
  const { stdout } = spawnSync(resolve('node_modules/.bin/biome'), command, { cwd: root, encoding: 'utf8' })
  const found = stdout.split('\n').filter(line => line.includes(message))
  return found.map(line => line.replace(/^.*file=([^,]+),line=(\d+).*$/, '$1:$2')).sort()
}

/** Returns the texts in which the rule finds an export without a doc comment. */
function rejected(texts: string[]): string[] {
  const pathOf = (index: number) => `src/sample-${index}.ts`
  const found = lint(Object.fromEntries(texts.map((text, index) => [pathOf(index), text])), 'Write a doc comment')
  return texts.filter((_, index) => found.some(place => place.startsWith(`${pathOf(index)}:`)))
}

it('rejects an exported function, class or enum that has no doc comment', () => {
  const undocumented = declarations.flatMap(declaration =>
    ['', '// Does one thing.\n', '/* Does one thing. */\n', '/** Does one thing. */\nfirst.toFixed()\n'].map(
      above => `const first = 1\n${above}${declaration}\n`,
    ),
  )
  expect(rejected(undocumented)).toEqual(undocumented)
})

it('accepts documented exports, and exported values and types without a doc comment', () => {
  const undocumented = [
    'export const sample = 2',
    'export const sample = { of: () => first }',
    'export type Sample = string',
    'export interface Sample {\n  name: string\n}',
    'function sample(): void {}',
  ]
  const documented = declarations.flatMap(declaration =>
    ['/** Does one thing. */', '/**\n * Does *one* thing.\n * @returns nothing\n */'].map(
      above => `const first = 1\n${above}\n${declaration}\n`,
    ),
  )
  expect(rejected([...documented, ...undocumented.map(text => `const first = 1\n${text}\n`)])).toEqual([])
})

it.each([
  ['an export without a doc comment as its first statement', /^(?:\s|\/\/.*\n)*export (?!const|type|interface)/],
  ['a doc comment of an export that begins with a tag', /\/\*\*[\s*]*@(?:(?!\*\/)[\s\S])*\*\/\s*export /],
])('no source file has %s', (_, fault) => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(name => fault.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})

it('rejects begin and reserve in src, outside demo data and imports', () => {
  const source = `/** Runs. */
export async function run(pool: { begin(work: () => void): void; reserve(): void }): Promise<void> {
  pool.begin(() => {})
  pool.reserve()
}
`
  const paths = ['src/rest/any.ts', 'src/db/any.ts', 'src/demo/load.ts', 'src/import/import.ts', 'test/db/any.test.ts']
  const found = lint(Object.fromEntries(paths.map(path => [path, source])), 'No `begin` or `reserve`')
  expect(found).toEqual(['src/db/any.ts:3', 'src/db/any.ts:4', 'src/rest/any.ts:3', 'src/rest/any.ts:4'])
})
