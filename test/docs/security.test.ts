/** Checks that each row of a table in docs/security.md names an existing test. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const tables = readFileSync('docs/security.md', 'utf8')
  .split(/^## /m)
  .filter(section => section.includes('| Test |'))
const rows = tables.flatMap(section => section.split('\n').filter(line => /^\|(?! (Risk|Threat) \||-)/.test(line)))

test('docs/security.md has the ten risks of OWASP, and a test for each guard', () => {
  const risks = rows.flatMap(row => /^\| API(\d+) /.exec(row)?.[1] ?? [])
  expect(risks).toEqual(Array.from({ length: 10 }, (_, index) => String(index + 1)))
  expect(rows.length).toBeGreaterThan(30)
})

test.each(rows)('%s', row => {
  const [, file = '', title = ''] = /`(test\/[\w./-]+\.test\.ts)`(?:: "(.+)")? \|$/.exec(row) ?? []
  expect(readFileSync(file, 'utf8')).toContain(title === '' ? 'test' : title)
})
