import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from '../db/sql.ts'
import { GatewayError } from '../domain/errors.ts'

/**
 * Writes files into a folder, and creates the folder when it does not exist.
 *
 * @param files the texts, by file name
 * @throws GatewayError when the folder has one of the files already; then no file is written
 */
export function writeFolder(folder: string, files: Readonly<Record<string, string>>): void {
  const existing = Object.keys(files).filter(name => existsSync(join(folder, name)))
  if (existing.length > 0) {
    const message = `${folder} has ${existing.join(', ')}: move these away, or name another folder.`
    throw new GatewayError('BAD_USER_INPUT', message)
  }
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { flag: 'wx' })
}

/**
 * Writes the installed mapping of a platform into a folder. `adopt apply` can install the mapping again from the
 * folder.
 *
 * @returns the names of the files, and the schemas of unqualified names
 * @throws GatewayError when no mapping of a platform is installed, or when the folder has one of the files
 */
export async function exportMapping(sql: Sql, folder: string): Promise<{ files: string[]; path: string }> {
  // A type of records that the platform does not have has an empty select.
  const rows = await sql<{ name: string; text: string; path: string }[]>`
    select /* adoption.export_mapping */ name, text, files ->> 'path' as path
    from gateway.mapping cross join lateral (
      select record || '.sql', files ->> 'select'
      union all
      select format('%s.from.%s.sql', record, key), value from jsonb_each_text(files -> 'rules')
    ) file (name, text)
    where not is_plain and files ->> 'select' !~ '^select null::.* where false$'
    order by name`
  const [first] = rows
  if (!first) throw new GatewayError('BAD_USER_INPUT', 'No mapping of a platform is installed in this database.')
  writeFolder(folder, Object.fromEntries(rows.map(({ name, text }) => [name, `${text};\n`])))
  return { files: rows.map(({ name }) => name), path: first.path }
}
