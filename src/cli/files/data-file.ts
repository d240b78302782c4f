/**
 * Small files in a data directory. `origin` has the origin of the service, for other commands; it exists while the
 * service listens. `demo-token` has the secret of the demo's token, for the next start.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Name = 'origin' | 'demo-token'

/** Writes a file. Only the owner of the file may read the secret in it. */
export function writeDataFile(dataDir: string, name: Name, text: string): void {
  writeFileSync(join(dataDir, name), `${text}\n`, { mode: name === 'demo-token' ? 0o600 : 0o666 })
}

/** Removes a file. A file of a service that was killed is also removed. */
export function removeDataFile(dataDir: string, name: Name): void {
  rmSync(join(dataDir, name), { force: true })
}

/** Returns the text of a file, or null when there is none. */
export function readDataFile(dataDir: string, name: Name): string | null {
  try {
    return readFileSync(join(dataDir, name), 'utf8').trim()
  } catch {
    return null
  }
}
