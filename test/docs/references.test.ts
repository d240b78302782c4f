/** Checks the documentation. Each command must exist with its options, and each link must have a target. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { listenCommand } from '#listen'
import { syncCommand } from '#sync'
import { adminCommand } from '../../src/cli/admin.ts'
import { adoptCommand } from '../../src/cli/adopt/adopt.ts'
import { demoCommand } from '../../src/cli/demo.ts'
import { doctorCommand } from '../../src/cli/doctor.ts'
import { importCommand } from '../../src/cli/import.ts'
import { keysCommand } from '../../src/cli/keys.ts'
import { migrateCommand } from '../../src/cli/migrate.ts'
import { redemptionTokenCommand } from '../../src/cli/redemption-token.ts'
import { serveCommand } from '../../src/cli/serve/serve.ts'
import { tokenCommand } from '../../src/cli/token.ts'
import { verifyCommand } from '../../src/cli/verify.ts'
import { webhookCommand } from '../../src/cli/webhook.ts'

const commands: readonly Command[] = [
  ...[serveCommand, migrateCommand, demoCommand, importCommand, tokenCommand, syncCommand, listenCommand],
  ...[adminCommand, verifyCommand, doctorCommand, adoptCommand, keysCommand, redemptionTokenCommand, webhookCommand],
]
const findMarkdownFiles = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md') && !file.includes('node_modules'))
    .map(file => join(directory, file))
const files = [
  ...findMarkdownFiles('docs'),
  ...findMarkdownFiles('deploy'),
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
]

/** Returns the commands in the code of a text, each as a list of words without its comment and pipe. */
const findCommands = (text: string) =>
  [...text.matchAll(/(?:(?<![\w-])voucher-gateway|npm run cli --|dist\/main\.js) ([a-z]+\b(?:[^`\n|#&;>\\]|\\\n)*)/g)]
    .map(([, words = '']) => words.replaceAll('\\\n', ' ').trim().split(/\s+/))
    .filter(([name]) => commands.some(command => command.name() === name))

function findProblem([name, ...words]: readonly string[], among = commands): string | undefined {
  const command = among.find(each => each.name() === name)
  if (command === undefined) return `${name} is no command`
  const [first = ''] = words
  if (command.commands.length > 0 && /^[a-z]/.test(first)) return findProblem(words, command.commands)
  for (const [index, word] of words.entries()) {
    if (!word.startsWith('--')) continue
    const option = command.options.find(({ long }) => long === word)
    if (option === undefined) return `${name} has no option ${word}`
    if (option.required && /^(--.*)?$/.test(words[index + 1] ?? '')) return `${word} of ${name} needs a value`
  }
  return undefined
}

const documentedCommands = files.flatMap(file =>
  findCommands(readFileSync(file, 'utf8')).map(words => [file, words] as const),
)

test('the docs contain more than seven of the commands', () => {
  expect(new Set(documentedCommands.map(([, [name]]) => name)).size).toBeGreaterThan(7)
})

test.each(documentedCommands)('%s: %s', (_file, words) => {
  expect(findProblem(words)).toBeUndefined()
})

/** Returns the anchor of each heading in a file, as GitHub creates the anchors. */
function readAnchors(file: string): string[] {
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

test.each(links)('%s: %s', (file, link) => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : join(dirname(file), path)
  expect(existsSync(target), target).toBe(true)
  if (anchor !== undefined && target.endsWith('.md')) expect(readAnchors(target)).toContain(anchor)
})
