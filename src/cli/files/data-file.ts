/**
 * Small files in a data directory. `origin`: the running service writes the origin under which people reach it, while it
 * listens, and other commands read it. `demo-token`: the secret of the demo's token, for the next start.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Name = 'origin' | 'demo-token'

/** Writes a file. Only its owner may read a secret. */
export function writeDataFile(dataDir: string, name: Name, text: string): void {
  writeFileSync(join(dataDir, name), `${text}\n`, { mode: name === 'demo-token' ? 0o600 : 0o666 })
}

/** Removes a file, even after the service that wrote it was killed. */
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
