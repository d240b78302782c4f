/** The dumps of releases, with the callers whose tokens they have. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Owner } from '../faults/support/world.ts'

/** The first line of a dump, as a comment of SQL. */
export interface DumpHead {
  owners: readonly Owner[]
}

/** The names of the releases that have a dump. */
export const dumpedReleases = readdirSync(import.meta.dirname)
  .filter(file => file.endsWith('.sql.gz'))
  .map(file => file.slice(0, -'.sql.gz'.length))

/** The file of a release's dump. */
export const fileOf = (release: string) => join(import.meta.dirname, `${release}.sql.gz`)

/** Reads a dump. */
export function readDump(release: string): DumpHead & { statements: string } {
  const text = gunzipSync(readFileSync(fileOf(release))).toString()
  const end = text.indexOf('\n')
  const head: DumpHead = JSON.parse(text.slice('-- '.length, end))
  return { ...head, statements: text.slice(end) }
}
