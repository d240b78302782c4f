/**
 * The file `origin` in a data directory: the running service writes the origin under which people reach it, and other
 * commands read it. The file exists while the service listens.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const fileIn = (dataDir: string) => join(dataDir, 'origin')

/** Writes the origin, once the service listens. */
export function recordServiceOrigin(dataDir: string, origin: string): void {
  writeFileSync(fileIn(dataDir), `${origin}\n`)
}

/** Removes the origin, also one that a killed service left behind. */
export function removeServiceOrigin(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true })
}

/** Returns the origin, or null when the service does not listen. */
export function readServiceOrigin(dataDir: string): string | null {
  try {
    return readFileSync(fileIn(dataDir), 'utf8').trim()
  } catch {
    return null
  }
}
