/**
 * No regular expression takes more than linear time, because callers and other services choose the lengths of texts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { full } from 'acorn-walk'
import { transformSync } from 'esbuild'
import { analyse } from 'scslre'
import { expect, test } from 'vitest'

const isSlow = (source: string, flags: string) =>
  analyse({ source, flags }, { reportTypes: { Move: true } }).reports.length > 0

/** Returns the regular expressions of a program in TypeScript or JavaScript. */
function expressionsIn(text: string, loader: 'ts' | 'tsx'): RegExp[] {
  const found: RegExp[] = []
  const { code } = transformSync(text, { loader, jsx: 'automatic', target: 'esnext' })
  full(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), node => {
    if (node.type === 'Literal' && 'value' in node && node.value instanceof RegExp) found.push(node.value)
  })
  return found
}

test('no source has a regular expression that takes quadratic time', () => {
  const paths = ['src', 'packages'].flatMap(root =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map(path => join(root, path)),
  )
  // This file is left out, because only the operator writes `.env`.
  const trusted = 'src/cli/files/env-file.ts'
  const sources = paths.filter(
    path => path !== trusted && /\.(ts|tsx|js)$/.test(path) && !/\/(dist|test|node_modules)\//.test(path),
  )
  const all = sources.flatMap(path =>
    expressionsIn(readFileSync(path, 'utf8'), path.endsWith('x') ? 'tsx' : 'ts').map(found => ({ path, found })),
  )
  expect(all.length).toBeGreaterThan(100)
  const slow = all.filter(({ found }) => isSlow(found.source, found.flags))
  expect(slow.map(({ path, found }) => `${path}: ${found}`)).toEqual([])
})

test.each([/\/+$/, /\s+$/, /(a+)+$/, /,.*$/, /^\d*1\d*$/])('%s is reported as slow', expression => {
  expect(
    expressionsIn(`text.replace(${expression}, '')`, 'ts').map(found => isSlow(found.source, found.flags)),
  ).toEqual([true])
})
