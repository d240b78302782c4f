/** The commands that the docs name: each exists, with its options, and each option has the value that it needs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
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
import { tokenCommand } from '../../src/cli/token/token.ts'
import { verifyCommand } from '../../src/cli/verify.ts'

const commands: readonly Command[] = [
  ...[serveCommand, migrateCommand, demoCommand, importCommand, tokenCommand, syncCommand, adminCommand],
  ...[verifyCommand, doctorCommand, adoptCommand, keysCommand, redemptionTokenCommand],
]
const guides = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.md'))
const files = [
  ...guides.map(file => join('docs', file)),
  'README.md',
  'deploy/README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
]

/** Returns the commands in a text, each as its words: those in code, up to a comment or a pipe. */
const commandsIn = (text: string) =>
  [...text.matchAll(/(?:(?<![\w-])voucher-gateway|npm run cli --|dist\/main\.js) ([a-z]+\b(?:[^`\n|#&;>\\]|\\\n)*)/g)]
    .map(([, words = '']) => words.replaceAll('\\\n', ' ').trim().split(/\s+/))
    .filter(([name]) => commands.some(command => command.name() === name))

/** Returns what is wrong with a command. */
function problemOf([name, ...words]: readonly string[], among = commands): string | undefined {
  const command = among.find(each => each.name() === name)
  if (command === undefined) return `${name} is no command`
  const [first = ''] = words
  if (command.commands.length > 0 && /^[a-z]/.test(first)) return problemOf(words, command.commands)
  for (const [index, word] of words.entries()) {
    if (!word.startsWith('--')) continue
    const option = command.options.find(({ long }) => long === word)
    if (option === undefined) return `${name} has no option ${word}`
    if (option.required && /^(--.*)?$/.test(words[index + 1] ?? '')) return `${word} of ${name} needs a value`
  }
  return undefined
}

const documented = files.flatMap(file => commandsIn(readFileSync(file, 'utf8')).map(words => [file, words] as const))

test('the docs name each command, and the search finds what is wrong', () => {
  expect(new Set(documented.map(([, [name]]) => name)).size).toBeGreaterThan(7)
  const wrong = ['doctor --bundle', 'verify --fix', 'token renew 3', 'migrate --wait --check']
  const found = commandsIn(wrong.map(command => `\`voucher-gateway ${command}\``).join('\n')).map(words =>
    problemOf(words),
  )
  expect(found).toEqual([
    '--bundle of doctor needs a value',
    'verify has no option --fix',
    'renew is no command',
    '--wait of migrate needs a value',
  ])
})

test.each(documented)('%s: %s', (_file, words) => {
  expect(problemOf(words)).toBeUndefined()
})
