/**
 * The patched driver. Nine faults of postgres.js lose statements, mix up their rows or stop a connection, and a tenth makes a statement
 * take 143 µs instead of 50 to 55 µs after 200,000 of them (tools/driver/README.md, docs/performance.md).
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ReasonError, reason } from '../../reasons.ts'

/** The digest of the patched driver, which `tools/driver/apply.ts` builds and `test/db/patches.test.ts` tests. */
export const patchedDigest = 'ed5e41e377413a41e76b00d0092278624d4fbaff71111e8fce486c70c9e12854'

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
 * @throws ReasonError that names the directory of the driver and what to do
 */
export function requirePatchedDriver(): void {
  const directory = new URL('.', import.meta.resolve('#postgres'))
  if (hashDirectory(directory) === patchedDigest) return
  throw new ReasonError(reason('DRIVER_NOT_PATCHED', { directory: fileURLToPath(directory) }))
}
