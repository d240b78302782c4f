import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { databaseVariables } from '#database-url'
import { similarNames, unknownVariable } from '../config/variable-names.ts'
import { variableNames } from '../config/variables.ts'

const file = '.env'

/** A quoted value, which may span several lines, after its name. */
const quotedValue = /^([^\n#=]*=[ \t]*)(["'`])[\s\S]*?\2/gm

/** The rest of an assignment. `#` begins a comment only after a space: Node would cut `a#b` to `a`. */
const value = /""[ \t]*(#.*)?|(?![ \t]*["'`])([^#]*[ \t]#.*|#.*|[^#]*)/

/** An assignment, a comment or an empty line. */
const line = new RegExp(`^[ \\t]*((export[ \\t]+)?(?<name>[A-Za-z_]\\w*)[ \\t]*=[ \\t]*(${value.source})|#.*)?$`)

/** The names that have a meaning for a command, the sync's included. */
const knownNames = [
  ...variableNames,
  ...databaseVariables,
  ...['TOKEN', 'URL', 'SYNC_TO'].map(name => `VOUCHER_GATEWAY_${name}`),
]

/**
 * Adds the variables of `.env` in the working directory, if the file exists, to the environment. A variable that is
 * already set keeps its value.
 *
 * @throws Error when the file cannot be read, has a line that is not an assignment (Node would skip it), an unknown name
 *   or a name twice
 */
export function loadEnvFile(): void {
  const text = readText()
  if (text === null) return
  const problems = findProblems(text).map(problem => `${resolve(file)}, ${problem}`)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
}

/** Reads UTF-8, or the UTF-16 that editors on Windows write. @returns null when there is no file */
function readText(): string | null {
  try {
    const bytes = readFileSync(file)
    const encoding = { fffe: 'utf-16le', feff: 'utf-16be' }[bytes.toString('hex', 0, 2)] ?? 'utf-8'
    // The decoder also removes the byte order mark.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes).replaceAll(/\r\n?/g, '\n')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${resolve(file)} cannot be read: ${reason}. Make the file readable, or remove it.`)
  }
}

function findProblems(text: string): string[] {
  const unquoted = text.replace(quotedValue, (value, start) => `${start}""${value.replaceAll(/[^\n]/g, '')}`)
  const invalid: number[] = []
  const problems: string[] = []
  const names = new Set<string>()
  for (const [index, each] of unquoted.split('\n').entries()) {
    const match = line.exec(each)
    if (match === null) invalid.push(index + 1)
    const name = match?.groups?.name
    if (name === undefined) continue
    const problem = (text: string) => problems.push(`line ${index + 1}: ${text}`)
    if (names.has(name)) problem(`${name} is set twice. Remove one of the two lines.`)
    else if (!knownNames.includes(name)) problem(unknownVariable(name, similarNames(name, knownNames)))
    names.add(name)
  }
  if (invalid.length === 0) return problems
  // The message does not quote the line, which may contain a secret.
  const expected = 'expected NAME=value, for example PORT=8080, or a comment after #'
  return [
    `line ${invalid.join(', ')}: ${expected}. A value with # or a quotation mark has to be in quotes.`,
    ...problems,
  ]
}
