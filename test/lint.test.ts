/** What our rules of lint (tools/*.grit) do not see. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createDirectory } from './support/directory.ts'

const declarations = [
  'export async function sample(): Promise<void> {}',
  'export default function sample(): void {}',
  'export abstract class Sample {}',
  'export enum Sample {\n  One,\n}',
  'export const sample = (): number => first',
  'export const sample = function (): number {\n  return first\n}',
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

it('rejects an exported function, class or enum that has no doc comment, and nothing else', () => {
  const withComments = (...comments: string[]) =>
    declarations.flatMap(declaration => comments.map(above => `const first = 1\n${above}${declaration}\n`))
  const undocumented = withComments('', '// Does one thing.\n', '/** Does one thing. */\nfirst.toFixed()\n')
  const documented = withComments('/** Does one thing. */\n', '/**\n * Does *one* thing.\n * @returns nothing\n */\n')
  const others = [
    'export const sample = { of: () => 2 }',
    'export interface Sample {\n  name: string\n}',
    'function sample(): void {}',
  ]
  const texts = [...undocumented, ...documented, ...others.map(text => `const first = 1\n${text}\n`)]
  const pathOf = (index: number) => `src/sample-${index}.ts`
  const found = lint(Object.fromEntries(texts.map((text, index) => [pathOf(index), text])), 'Write a doc comment')
  expect(texts.filter((_, index) => found.some(place => place.startsWith(`${pathOf(index)}:`)))).toEqual(undocumented)
})

it.each([
  ['an export without a doc comment as its first statement', /^(?:\s|\/\/.*\n)*export (?!const|type|interface)/],
  ['a doc comment of an export that begins with a tag', /\/\*\*[\s*]*@(?:(?!\*\/)[\s\S])*\*\/\s*export /],
])('no source file has %s', (_, fault) => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(name => fault.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})
