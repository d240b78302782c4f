/** Creates a later version of the program, with additional migrations, changed files and a list of releases. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version as ownVersion } from '../../src/version.ts'
import { createDirectory } from './directory.ts'

const checkout = join(import.meta.dirname, '../..')

interface LaterVersion {
  /** The content of `sql/releases.json`. */
  releases?: { version: string; migration: number; isStop: boolean }[]
  /** The texts of additional files of `sql/`, by name. */
  migrations?: Record<string, string>
  /** The texts of additional files of `mappings/plain`, by name. */
  mappings?: Record<string, string>
  /** The replacements by file: a text, and the text that replaces it. */
  edits?: Record<string, [string, string]>
  /** The release in `package.json`. */
  version?: string
}

/** Copies the built program and changes files of the copy. @returns the path of the program to run */
export function createLaterVersion(of: LaterVersion): string {
  const { releases = [], migrations = {}, mappings = {}, edits = {}, version } = of
  const root = createDirectory()
  for (const path of ['dist', 'mappings', 'package.json', 'schema', 'sql'])
    cpSync(join(checkout, path), join(root, path), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'sql/releases.json'), JSON.stringify(releases))
  for (const [file, text] of Object.entries(migrations)) writeFileSync(join(root, 'sql', file), text)
  for (const [file, text] of Object.entries(mappings)) writeFileSync(join(root, 'mappings/plain', file), text)
  const edit = (path: string, former: string, text: string) => {
    const content = readFileSync(join(root, path), 'utf8')
    if (!content.includes(former)) throw new Error(`${path} has no ${former}`)
    writeFileSync(join(root, path), content.replace(former, text))
  }
  for (const [path, [former, text]] of Object.entries(edits)) edit(path, former, text)
  if (version !== undefined) edit('package.json', `"version": "${ownVersion}"`, `"version": "${version}"`)
  return join(root, 'dist/main.js')
}
