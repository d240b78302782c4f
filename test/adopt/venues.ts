/** Copies the mapping of the venues platform, and creates databases with its tables. */
import { cpSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { run } from '../support/process.ts'

export const venuesFolder = fileURLToPath(new URL('venues', import.meta.url))

export const venuesTables = readFileSync(`${venuesFolder}.tables.sql`, 'utf8')

/** Copies the mapping, and returns the path of the copy. @param change changes files of the copy; gets its path */
export function copyVenues(change: (copy: string) => void): string {
  const copy = createDirectory()
  cpSync(venuesFolder, copy, { recursive: true })
  change(copy)
  return copy
}

/** Creates a database with the tables of the platform. @param rows statements that insert rows */
export async function createVenuesDatabase(rows = '') {
  const { owner: platform, url } = await createEmptyDatabase()
  await platform.unsafe(`${venuesTables}; ${rows}`).simple()
  return { platform, url, adopt: (...words: string[]) => run(['adopt', ...words], { DATABASE_URL: url }) }
}
