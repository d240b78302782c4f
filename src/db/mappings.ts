/** The mapping of each type of record: a select over the tables of the platform (`mappings/plain`). */
import { readdirSync, readFileSync } from 'node:fs'
import type { Sql } from './sql.ts'

/** Read once: the files of a running service do not change. */
let own: { record: string; text: string }[] | undefined

function readOwn() {
  const directory = new URL('../../mappings/plain/', import.meta.url)
  own ??= readdirSync(directory).map(file => ({
    record: file.replace('.sql', ''),
    text: readFileSync(new URL(file, directory), 'utf8'),
  }))
  return own
}

/** Returns whether the database has each mapping as its file has it. */
export async function hasMappings(sql: Sql): Promise<boolean> {
  const rows = await sql<{ record: string; text: string }[]>`
    select /* mapping.read */ record, text from gateway.mapping`
  const installed = new Map(rows.map(({ record, text }) => [record, text]))
  return readOwn().every(({ record, text }) => installed.get(record) === text)
}

/** Installs the mappings that the database has not, or has otherwise: their records are then all compared again. */
export async function installMappings(sql: Sql): Promise<void> {
  for (const { record, text } of readOwn()) {
    await sql`call /* mapping.install */ gateway.install_mapping(${record}::gateway.record_type, ${text})`
  }
}
