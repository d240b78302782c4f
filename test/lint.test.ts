/** The rules for doc comments: the lint rule that asks for them (tools/doc-comments.grit), and how they begin. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const declarations = [
  'export function sample(): void {}',
  'export async function sample(): Promise<void> {}',
  'export default function sample(): void {}',
  'export class Sample {}',
  'export abstract class Sample {}',
  'export interface Sample {\n  name: string\n}',
  'export type Sample = string',
  'export enum Sample {\n  One,\n}',
  'export const sample = (): number => first',
  'export const sample = function (): number {\n  return first\n}',
  'export function sample(of: string): string\nexport function sample(of: unknown): unknown {\n  return of\n}',
  'export function sample(\n  of: string,\n): string\nexport function sample(of: unknown): unknown {\n  return of\n}',
]

/** Lints these texts as files of `src/`; returns those in which the rule finds an export. */
function rejected(texts: string[]): string[] {
  const root = mkdtempSync(join(tmpdir(), 'lint-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const rules = ['doc-comments', 'no-transactions'].map(name => `tools/${name}.grit`)
  for (const path of ['biome.json', ...rules]) cpSync(path, join(root, path))
  mkdirSync(join(root, 'src'))
  for (const [index, text] of texts.entries()) writeFileSync(join(root, 'src', `sample-${index}.ts`), text)
  const command = ['lint', '--vcs-enabled=false', '--max-diagnostics=none', '--reporter=github', 'src']
  const { stdout } = spawnSync(resolve('node_modules/.bin/biome'), command, { cwd: root, encoding: 'utf8' })
  const found = stdout.split('\n').filter(line => line.includes('Write a doc comment'))
  return texts.filter((_, index) => found.some(line => line.includes(`sample-${index}.ts`)))
}

it('rejects an exported function, class, interface, type or enum that has no doc comment', () => {
  const undocumented = declarations.flatMap(declaration =>
    ['', '// Does one thing.\n', '/* Does one thing. */\n', '/** Does one thing. */\nfirst.toFixed()\n'].map(
      above => `const first = 1\n${above}${declaration}\n`,
    ),
  )
  expect(rejected(undocumented)).toEqual(undocumented)
})

it('accepts documented exports, and exported values without a doc comment', () => {
  const values = ['export const sample = 2', 'export const sample = { of: () => first }', 'function sample(): void {}']
  const documented = declarations.flatMap(declaration =>
    ['/** Does one thing. */', '/**\n * Does *one* thing.\n * @returns nothing\n */'].map(
      above => `const first = 1\n${above}\n${declaration}\n`,
    ),
  )
  expect(rejected([...documented, ...values.map(value => `const first = 1\n${value}\n`)])).toEqual([])
})

it('finds a doc comment above an export that is the first statement of a source file', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
  expect(files.length).toBeGreaterThan(100)
  const bare = /^(?:\s|\/\/.*\n)*export (?!const)/
  expect(files.filter(name => bare.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})

it('finds a sentence before the tags in the doc comment of each export', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
  const beginsWithTag = /\/\*\*[\s*]*@(?:(?!\*\/)[\s\S])*\*\/\s*export /
  expect(files.filter(name => beginsWithTag.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})
