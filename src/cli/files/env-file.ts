import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { databaseVariables } from '#database-url'
import { similarNames, unknownVariable } from '../../config/variable-names.ts'
import { variableNames } from '../../config/variables.ts'
import { type Reason, ReasonError, reason } from '../../reasons.ts'

const envFile = '.env'

/** A quoted value after the name of a variable. The value may span several lines. */
const quotedValue = /^([^\n#=]*=[ \t]*)(["'`])[\s\S]*?\2/gm

/**
 * The value of an assignment without quotes. `#` begins a comment only after a space, whereas Node would cut `a#b` to
 * `a`.
 */
const unquotedValue = /""[ \t]*(#.*)?|(?![ \t]*["'`])([^#]*[ \t]#.*|#.*|[^#]*)/

/** An assignment, a comment or an empty line. */
const validLine = new RegExp(
  `^[ \\t]*((export[ \\t]+)?(?<name>[A-Za-z_]\\w*)[ \\t]*=[ \\t]*(${unquotedValue.source})|#.*)?$`,
)

/** The names of all variables that a command of the program reads, the command `sync` included. */
const knownNames = [
  ...variableNames,
  ...databaseVariables,
  ...['TOKEN', 'URL', 'SYNC_TO'].map(name => `VOUCHER_GATEWAY_${name}`),
]

/**
 * Adds the variables of `.env` in the working directory, if the file exists, to the environment. A variable that is
 * already set keeps its value.
 *
 * @throws ReasonError for a file that cannot be read, a line that is not an assignment (Node would skip it), an unknown
 * name or a name twice
 */
export function loadEnvFile(): void {
  const text = readText()
  if (text === null) return
  const reasons = findProblems(text)
  if (reasons.length > 0) throw new ReasonError(reasons)
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
}

/** Reads UTF-8, or UTF-16, which some editors on Windows write. @returns null when there is no file */
function readText(): string | null {
  try {
    const bytes = readFileSync(envFile)
    const encoding = { fffe: 'utf-16le', feff: 'utf-16be' }[bytes.toString('hex', 0, 2)] ?? 'utf-8'
    // The decoder also removes the byte order mark.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes).replaceAll(/\r\n?/g, '\n')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    const why = error instanceof Error ? error.message : String(error)
    throw new ReasonError(reason('ENV_FILE_UNREADABLE', { file: resolve(envFile), why }))
  }
}

function findProblems(text: string): Reason[] {
  const unquoted = text.replace(quotedValue, (value, start) => `${start}""${value.replaceAll(/[^\n]/g, '')}`)
  const invalid: number[] = []
  const reasons: Reason[] = []
  const names = new Set<string>()
  for (const [index, each] of unquoted.split('\n').entries()) {
    const match = validLine.exec(each)
    if (match === null) invalid.push(index + 1)
    const name = match?.groups?.name
    if (name === undefined) continue
    const place = placeOf(index + 1)
    if (names.has(name)) reasons.push(reason('ENV_FILE_REPEATED', { place, variable: name }))
    else if (!knownNames.includes(name)) {
      reasons.push(unknownVariable(`${place}: ${name}`, similarNames(name, knownNames)))
    }
    names.add(name)
  }
  // The message does not quote a line, which may contain a secret.
  if (invalid.length > 0) reasons.unshift(reason('ENV_FILE_INVALID', { place: placeOf(invalid.join(', ')) }))
  return reasons
}

const placeOf = (lines: number | string) => `${resolve(envFile)}, line ${lines}`
