/**
 * Reads and installs mappings. A mapping has a select over the tables of the platform for a type of records, and rules
 * for the tables that the select reads (`mappings/plain`).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from '#postgres'
import type { Sql } from '../sql.ts'

export interface Mapping {
  record: string
  /** The text of `<record>.sql`. */
  select: string
  /** The text of each `<record>.from.<source>.sql`, by the name of the source. */
  rules: Record<string, string>
  /** The schemas in which unqualified names of the texts are looked up, in the syntax of `search_path`. */
  path: string
}

/**
 * The mappings of the plain tables. Reads the files only once, because the files of a running service do not change.
 */
let plain: Mapping[] | undefined
const readPlain = () => (plain ??= readMappings(fileURLToPath(new URL('../../../mappings/plain', import.meta.url))))

/** The statements that create the plain tables. */
const readPlainTables = () => readFileSync(new URL('../../../sql/plain-tables.sql', import.meta.url), 'utf8')

/** The default schemas of unqualified names. */
export const defaultPath = 'public'

/**
 * Reads the mappings of a folder.
 *
 * @param path the schemas of names without a schema
 * @returns one mapping for each `<record>.sql`
 * @throws an Error when the folder does not exist, or has a rule for a type without a mapping
 */
export function readMappings(folder: string, path = defaultPath): Mapping[] {
  if (!existsSync(folder)) throw new Error(`There is no folder ${folder}. The command \`adopt init\` writes one.`)
  const files = readdirSync(folder)
    .filter(file => file.endsWith('.sql'))
    .sort()
  // psql needs the semicolon at the end of a file; the query of a view must not have one.
  const read = (file: string) => readFileSync(join(folder, file), 'utf8').replace(/;\s*$/, '')
  const mappings = new Map<string, Mapping>()
  for (const file of files.filter(file => !file.includes('.from.'))) {
    const record = file.slice(0, -'.sql'.length)
    mappings.set(record, { record, select: read(file), rules: {}, path })
  }
  for (const file of files.filter(file => file.includes('.from.'))) {
    const [record = '', source = ''] = file.slice(0, -'.sql'.length).split('.from.')
    const mapping = mappings.get(record)
    if (!mapping) throw new Error(`${file}: a rule needs a mapping in the same folder, ${record}.sql.`)
    mapping.rules[source] = read(file)
  }
  return [...mappings.values()]
}

/**
 * Returns whether the records come from the plain tables or from the tables of an adopted platform; null without
 * mappings.
 */
export async function readKindOfTables(sql: Sql): Promise<'plain' | 'adopted' | null> {
  const [table] = await sql<[{ exists: boolean }]>`
    select /* mapping.table_exists */ to_regclass('gateway.mapping') is not null as exists`
  if (!table.exists) return null
  const [row] = await sql<[{ kind: 'plain' | 'adopted' | null }]>`
    select /* mapping.read_kind */ case when bool_and(is_plain) then 'plain' when count(*) > 0 then 'adopted' end as kind
    from gateway.mapping`
  return row.kind
}

/**
 * Checks that the plain tables are the source of the records. The names of tables do not show this, because the tables
 * of an adopted platform may have the same names.
 *
 * @throws Error when the mappings are of another platform
 */
export async function requirePlainTables(sql: Sql): Promise<void> {
  if ((await readKindOfTables(sql)) !== 'adopted') return
  throw new Error(
    'This database serves the tables of a platform. Demo data and imported files need another database, with the plain tables.',
  )
}

/**
 * Converts a position in a statement to the number of a line of the file. In the statement, an additional line precedes
 * the text of the file.
 *
 * @param position counted in characters from 1; undefined when PostgreSQL names none
 */
export const lineAt = (statement: string, position: string | undefined): number | null =>
  position ? [...statement].slice(0, Number(position) - 1).filter(character => character === '\n').length : null

/** Throws an error of a mapping's statement with the file in its message, and the line if PostgreSQL names one. */
export function throwWithFile(error: unknown, { record, select, rules }: Mapping): never {
  if (!(error instanceof postgres.PostgresError)) throw error
  const { internal_query: statement = error.query, internal_position: position = error.position } = error
  const source = Object.keys(rules).find(source => statement.includes(`\n${rules[source]}`))
  const line = source !== undefined || statement.includes(`\n${select}`) ? lineAt(statement, position) : null
  const file = source === undefined ? `${record}.sql` : `${record}.from.${source}.sql`
  error.message = `${file}${line === null ? '' : `:${line}`}: ${error.message}`
  throw error
}

/** The state of the mappings in a database. */
interface InstalledMappings {
  /** True when the database has exactly these mappings. */
  is_current: boolean
  /** True when triggers capture the changes of all sources of the mappings. */
  is_captured: boolean
  /** True when a mapping reads tables other than the plain tables. */
  is_adopted: boolean
  /** True when the database has neither mappings nor plain tables. */
  is_empty: boolean
  /** True when a function that reads sources has the wrong owner, as after a restore. */
  lacks_reader: boolean
}

async function readInstalled(sql: Sql, mappings: Mapping[]): Promise<InstalledMappings> {
  const [installed] = await sql<[InstalledMappings]>`
    select /* mapping.read */ exists (select from gateway.mapping where not is_plain) as is_adopted,
           not exists (select from gateway.mapping) and to_regclass('public.purchased_voucher') is null as is_empty,
           not exists (
             select from (select *, files || jsonb_build_object('record', record) as given from gateway.mapping) installed
             full join jsonb_array_elements(${JSON.stringify(mappings)}::text::jsonb) wanted (given) using (given)
             -- A type that a platform does not have reads no table.
             where wanted is null and record in (select record from gateway.rule) or installed is null
           )
           -- The files may be unchanged although a column got another type.
           and not exists (select from gateway.broken_mapping join gateway.mapping using (record) where not is_plain) as is_current,
           not exists (select from gateway.sources_to_capture()) as is_captured,
           exists (select from gateway.misplaced_reader) as lacks_reader`
  return installed
}

/**
 * Returns whether the mappings of the database equal the mappings in the files.
 *
 * @param adopted the mappings of an adopted platform; undefined accepts any installed mappings of an adopted platform,
 * or the plain mappings of this version
 */
export async function hasMappings(sql: Sql, adopted?: Mapping[]): Promise<boolean> {
  const { is_current, is_captured, is_adopted, lacks_reader } = await readInstalled(sql, adopted ?? readPlain())
  return !lacks_reader && is_captured && (is_current || (adopted === undefined && is_adopted))
}

/**
 * Installs the mappings that are missing or differ. Steps then compare all records of the installed mappings again.
 * Creates the plain tables in a database without mappings. A type without a mapping gets no records. The caller must
 * capture the sources afterwards.
 *
 * @param adopted as for `hasMappings`
 */
export async function installMappings(sql: Sql, adopted?: Mapping[]): Promise<void> {
  const mappings = adopted ?? readPlain()
  const { is_adopted, is_empty, lacks_reader } = await readInstalled(sql, mappings)
  if (lacks_reader) {
    await sql`call /* mapping.give_to_reader */ gateway.give_to_reader()`
    await sql`call /* mapping.grant_sources */ gateway.grant_sources()`
  }
  if (!adopted && is_adopted) return
  if (!adopted && is_empty) await sql.unsafe(readPlainTables()).simple()
  for (const mapping of mappings) {
    const { record, select, rules, path } = mapping
    const installing = sql`call /* mapping.install */ gateway.install_mapping(
      ${record}::gateway.record_type, ${select}, ${JSON.stringify(rules)}::text::jsonb, ${!adopted}, ${path})`
    await installing.catch(error => throwWithFile(error, mapping))
  }
  if (adopted) {
    const records = mappings.map(({ record }) => record)
    await sql`call /* mapping.install_none */ gateway.install_no_mapping(${`{${records.join()}}`}::text::gateway.record_type[])`
  }
}

/**
 * Creates missing capture triggers, and drops the capture triggers of tables without a rule. Runs one transaction per
 * table, so that a locked table does not block the other tables.
 */
export async function captureMissing(sql: Sql): Promise<void> {
  const sources = await sql<{ name: string }[]>`
    select /* mapping.sources_to_capture */ source::text as name from gateway.sources_to_capture() source`
  const capture = (name: string) =>
    sql`call /* mapping.capture */ gateway.capture(${name}::text::regclass)`.catch(error => {
      error.message = `${name}: ${error.message}`
      throw error
    })
  const captured = await Promise.allSettled(sources.map(({ name }) => capture(name)))
  for (const one of captured) if (one.status === 'rejected') throw one.reason
}

/** Returns the text as SQL. */
const literal = (text: string) => `e'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

/** Returns the SQL calls that install mappings. A call for a mapping that is already installed changes nothing. */
export const describeMappings = (mappings: readonly Mapping[], isPlain = false): string[] =>
  mappings.map(({ record, select, rules, path }) => {
    const texts = [record, select, JSON.stringify(rules)].map(literal).join(', ')
    return `call gateway.install_mapping(${texts}, ${isPlain}, ${literal(path)});`
  })

/** The statement that creates the missing capture triggers of all sources. */
export const captureSources = `do $$
declare
  source regclass;
begin
  for source in select * from gateway.sources_to_capture() loop
    call gateway.capture(source);
  end loop;
end $$;`

/**
 * Returns the SQL that installs the mappings of the plain tables; none when mappings of another platform are installed.
 */
export async function describePlainMappings(sql: Sql): Promise<string[]> {
  const kind = await readKindOfTables(sql)
  if (kind === 'adopted') return []
  return [...(kind === null ? [readPlainTables()] : []), ...describeMappings(readPlain(), true), captureSources]
}
