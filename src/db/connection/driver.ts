/**
 * The patched driver. Nine patches correct faults of postgres.js that lose statements, mix up their rows or stop a
 * connection. One patch corrects a fault that makes a statement take 143 µs instead of 50 to 55 µs after 200,000
 * statements (tools/driver/README.md, docs/performance.md).
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ReasonError, reason } from '../../reasons.ts'

/** The digest of the patched driver, which `tools/driver/apply.ts` builds and `test/db/patches.test.ts` tests. */
export const patchedDigest = 'b6141b5163e9ccb2ac7b6dcf2851ed019baa6ac0cae5c7517b2d37a9a4b6d401'

/**
 * Computes the digest of the files in a directory.
 *
 * @param directory a URL that ends with a slash
 * @returns the SHA-256, in hexadecimal, of their names and contents; null when the directory does not exist
 */
export function hashDirectory(directory: URL): string | null {
  if (!existsSync(directory)) return null
  const hash = createHash('sha256')
  for (const name of readdirSync(directory).sort()) {
    const content = readFileSync(new URL(name, directory))
    hash.update(`${name} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/**
 * Checks that this process loads the patched driver. The digest covers every change and needs no database.
 *
 * @throws ReasonError with the directory of the driver, and the remedy
 */
export function requirePatchedDriver(): void {
  const directory = new URL('.', import.meta.resolve('#postgres'))
  if (hashDirectory(directory) === patchedDigest) return
  throw new ReasonError(reason('DRIVER_NOT_PATCHED', { directory: fileURLToPath(directory) }))
}
