import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The digest of the corrected driver: of the files that `patches/apply.ts` builds and `test/db/patches.test.ts` tests. */
export const correctedDigest = '9000058f773438f7bc703881824697e28c144f1217cb4010dea8f77c30860e7d'

/**
 * @param directory a URL that ends with a slash
 * @returns the SHA-256, in hexadecimal, of the names and contents of the files in it; null when there is no directory
 */
export function digestOf(directory: URL): string | null {
  if (!existsSync(directory)) return null
  const hash = createHash('sha256')
  for (const name of readdirSync(directory).sort()) {
    const content = readFileSync(new URL(name, directory))
    hash.update(`${name} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/**
 * Checks that the driver this process loads is the corrected one. The digest proves every correction, without a
 * database; a probe of behaviour would prove one of them.
 *
 * @throws Error that names the directory of the driver and the remedy
 */
export function requireCorrectedDriver(): void {
  const directory = new URL('.', import.meta.resolve('#postgres'))
  if (digestOf(directory) === correctedDigest) return
  throw new Error(
    `The database driver in ${fileURLToPath(directory)} is not the corrected one that this version needs: it can give ` +
      'a request the rows of another. Build the service again (npm ci && npm run build), or install the package again.',
  )
}
