/** A later version of the program, as a package has it: further migrations, and a list of releases. */
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDirectory } from './directory.ts'

const checkout = join(import.meta.dirname, '../..')

interface LaterVersion {
  /** The content of `sql/releases.json`. */
  releases?: { version: string; migration: number; isStop: boolean }[]
  /** The further files of `sql/`: texts by name. */
  migrations?: Record<string, string>
}

/** Copies the built program with changes of its files. @returns the file to run */
export function createLaterVersion({ releases = [], migrations = {} }: LaterVersion): string {
  const root = createDirectory()
  for (const path of ['dist', 'mappings', 'package.json', 'schema', 'sql']) {
    cpSync(join(checkout, path), join(root, path), { recursive: true })
  }
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'sql/releases.json'), JSON.stringify(releases))
  for (const [file, text] of Object.entries(migrations)) writeFileSync(join(root, 'sql', file), text)
  return join(root, 'dist/main.js')
}
