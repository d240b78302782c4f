/** The links between the files of the documentation: each leads to a file, and to a heading in it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const texts = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md') && !file.includes('node_modules'))
    .map(file => join(directory, file))
const files = [...texts('docs'), ...texts('deploy'), 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

/** Returns the anchors that GitHub gives to the headings of a file. */
function anchorsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8').replaceAll(/^```.*?^```$/gms, '')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

const links = files.flatMap(file => {
  const found = readFileSync(file, 'utf8').matchAll(/\]\((?!\/|\w+:)([^)\s]+)\)/g)
  return [...found].map(([, link = '']) => [file, link] as const)
})

test('the documentation has links, and the anchors of a heading are found', () => {
  expect(links.length).toBeGreaterThan(100)
  expect(anchorsOf('docs/security.md')).toContain('owasp-api-security-top-10-2023')
})

test.each(links)('%s: %s', (file, link) => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : join(dirname(file), path)
  expect(existsSync(target), target).toBe(true)
  if (anchor !== undefined && target.endsWith('.md')) expect(anchorsOf(target)).toContain(anchor)
})
