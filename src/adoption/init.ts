/** Writes the first draft of a mapping: a guess from the catalog of a platform. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { liftLimits } from '../db/connection/lift-limits.ts'
import { inSession, type Pool } from '../db/sql.ts'
import { writeFolder } from './folder.ts'
import { createGuesser, fromOf, guessConditions } from './guess.ts'
import { tableNames } from './names.ts'
import { findRecords, keyColumnOf, type Platform } from './platform.ts'
import { readTables, type Table } from './tables.ts'

/** The descriptions of the data dictionary, by type of record and column. The default of a required column is null. */
const Descriptions = z.record(
  z.string(),
  z.object({
    words: z.string(),
    columns: z.record(z.string(), z.object({ type: z.string(), default: z.string().nullable(), words: z.string() })),
  }),
)
type Description = z.infer<typeof Descriptions>[string]

const descriptions = new URL('../../schema/mapping-columns.json', import.meta.url)

/** The files for a type of records. */
export interface MappingDraft {
  record: string
  /** The tables that may have records of the type, the likeliest first. The files read the first table. */
  candidates: string[]
  /** The table names that the search tried. */
  sought: string[]
  /** The text of each file, by the name of the file. */
  files: Record<string, string>
}

const comment = (words: string, indent = ''): string =>
  (words.match(/\S.{0,114}(?=\s|$)|\S+/g) ?? []).map(line => `${indent}-- ${line}\n`).join('')

/** Returns the sentence for a column that was not found. */
const describeMissing = (standard: string | null): string =>
  standard === null
    ? 'Required, and nothing found: put a column or a constant.'
    : `Nothing found${standard === 'null' ? '' : ': this is the default'}.`

/** The tenant of a platform without a table of tenants. */
const onlyShop = {
  'tenant.sql': `${comment('One shop is one tenant. Put its name and its time zone.')}select 1 as key, 'My shop' as name, 'UTC' as time_zone;\n`,
}

/** Returns the select of a type, and the rules of the tables that the select joins, by the names of the files. */
function toFiles(
  record: string,
  { words, columns }: Description,
  source: Table,
  platform: Platform,
): Record<string, string> {
  const { guess, fallback, joins, links } = createGuesser(source, platform)
  const lines = Object.entries(columns).map(([name, { type, default: standard, words }]) => {
    const { value, note = value === null ? describeMissing(standard) : '' } = guess(name, type)
    return `${comment(words, '  ')}${comment(note, '  ')}  ${value ?? fallback(name, type, standard)} as ${name}`
  })
  const sources = [...platform.candidates.values()].map(([first]) => first)
  const referring = platform.tables.filter(
    table => !sources.includes(table) && table.columns.some(column => platform.targets.get(column) === source),
  )
  const others = platform.candidates.get(record)?.slice(1) ?? []
  const list = (tables: readonly Table[]) =>
    [...tables.slice(0, 10).map(({ path }) => path), ...(tables.length > 10 ? ['and others'] : [])].join(', ')
  const hints = [
    words,
    `Guessed from the names and types of ${source.path}: compare each column, and the conditions. A column that was not found may go, unless it is required.`,
    ...(others.length > 0 ? [`Other tables with such a name: ${list(others)}.`] : []),
    ...(referring.length > 0 ? [`Tables that refer to it, and may have more: ${list(referring)}.`] : []),
  ]
  const joined = [...joins].map(([table, column]) => ({
    table,
    joins: (row: string) => `${source.alias}.${column.sql} = ${row}.${keyColumnOf(table)?.sql}`,
  }))
  const conditions = guessConditions(record, source)
  const select = [
    `select\n${lines.join(',\n\n')}`,
    `from ${fromOf(source)}`,
    ...joined.map(({ table, joins }) => `left join ${fromOf(table)} on ${joins(table.alias)}`),
    ...(conditions.length > 0 ? [`where ${conditions.join(' and ')}`] : []),
  ]
  const rules = [
    ...joined.map(({ table, joins }) => ({
      table,
      query: `select ${source.alias}.${keyColumnOf(source)?.sql} from changed join ${fromOf(source)} on ${joins('changed')}`,
    })),
    ...[...links].map(([table, column]) => ({ table, query: `select ${column.sql} from changed` })),
    ...(record === 'tenant' && platform.hasOneShop ? [{ table: source, query: 'select 1 from changed' }] : []),
  ]
  const files = { [`${record}.sql`]: `${hints.map(hint => comment(hint)).join('')}${select.join('\n')};\n` }
  for (const { table, query } of rules) {
    const words = `The keys that read rows of ${table.path}; \`changed\` has these rows.`
    files[`${record}.from.${table.source}.sql`] = `${comment(words)}${query};\n`
  }
  return files
}

/**
 * Writes the first draft of a mapping.
 *
 * @param sql the database of the platform; it needs no schema of the gateway
 * @returns one draft for each type of records
 * @throws GatewayError when the folder has one of the files already; then no file is written
 */
export async function initMapping(sql: Pool, folder: string): Promise<MappingDraft[]> {
  const described = Object.entries(Descriptions.parse(JSON.parse(readFileSync(descriptions, 'utf8'))))
  const records = described.map(([record]) => record)
  const platform = await inSession(sql, async session => {
    await session.unsafe('begin /* adoption.begin_reading */')
    await liftLimits(session, true)
    return findRecords(await readTables(session), records)
  })
  const drafts = described.map(([record, description]) => {
    const candidates = platform.candidates.get(record) ?? []
    const [source] = candidates
    return {
      record,
      sought: tableNames(record),
      candidates: candidates.map(({ path }) => path),
      files: source
        ? toFiles(record, description, source, platform)
        : record === 'tenant' && platform.hasOneShop
          ? onlyShop
          : {},
    }
  })
  writeFolder(folder, Object.assign({}, ...drafts.map(({ files }) => files)))
  return drafts
}
