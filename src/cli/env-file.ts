import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const file = '.env'

/** An assignment, a comment or an empty line. */
const line = /^\s*((export\s+)?[A-Za-z_]\w*\s*=.*|#.*)?$/

/** A quoted value, which may span several lines. */
const quotedValue = /=[ \t]*(["'`])[\s\S]*?\1/g

/**
 * Adds the variables of `.env` in the working directory, if the file exists, to the environment. A variable that is
 * already set keeps its value.
 *
 * @throws Error when the file cannot be read, or has a line that is not an assignment (Node would skip it)
 */
export function loadEnvFile(): void {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${resolve(file)} cannot be read: ${reason}. Make the file readable, or remove it.`)
  }
  const plain = text.replace(quotedValue, value => `=${value.replaceAll(/[^\n]/g, '')}`)
  const problems = plain.split(/\r?\n/).flatMap((each, index) => (line.test(each) ? [] : [index + 1]))
  if (problems.length > 0) {
    // The message does not quote the line, which may contain a secret.
    throw new Error(
      `${resolve(file)}, line ${problems.join(', ')}: expected NAME=value, for example PORT=8080, or a comment after #.`,
    )
  }
  process.loadEnvFile(file)
}
