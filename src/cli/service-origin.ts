/**
 * Where people reach the running service of a data directory: a file beside the data, which commands that run at the
 * same time read. It is there while the service listens.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const fileIn = (dataDir: string) => join(dataDir, 'origin')

/** Writes the origin. The service calls it when it listens. */
export function recordServiceOrigin(dataDir: string, origin: string): void {
  writeFileSync(fileIn(dataDir), `${origin}\n`)
}

/** Removes the origin, also one that a killed service left. */
export function removeServiceOrigin(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true })
}

/** @returns the origin, or null when the service does not listen yet */
export function readServiceOrigin(dataDir: string): string | null {
  try {
    return readFileSync(fileIn(dataDir), 'utf8').trim()
  } catch {
    return null
  }
}
