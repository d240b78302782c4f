/** What our rules of lint (tools/*.grit) do not see. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it.each([
  ['an export without a doc comment as its first statement', /^(?:\s|\/\/.*\n)*export (?!const|type|interface)/],
  ['a doc comment of an export that begins with a tag', /\/\*\*[\s*]*@(?:(?!\*\/)[\s\S])*\*\/\s*export /],
])('no source file has %s', (_, fault) => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(name => fault.test(readFileSync(join('src', name), 'utf8')))).toEqual([])
})
