/** The platform of venues: its mapping, and databases with its tables. */
import { cpSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { run } from '../support/process.ts'

export const venuesFolder = fileURLToPath(new URL('venues', import.meta.url))

export const venuesTables = readFileSync(`${venuesFolder}.tables.sql`, 'utf8')

/** Copies the mapping. @param change gets the path of the copy */
export function copyVenues(change: (copy: string) => void): string {
  const copy = createDirectory()
  cpSync(venuesFolder, copy, { recursive: true })
  change(copy)
  return copy
}

/** Creates a database with the tables. @param rows statements that fill them */
export async function createVenues(rows = '') {
  const { owner: platform, url } = await createEmptyDatabase()
  await platform.unsafe(`${venuesTables}; ${rows}`).simple()
  return { platform, url, adopt: (...words: string[]) => run(['adopt', ...words], { DATABASE_URL: url }) }
}
