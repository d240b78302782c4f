/**
 * Checks a mapping before its installation, with the SQL functions in sql/functions/adoption, and leaves the database
 * unchanged.
 */
import postgres from '#postgres'
import { lineAt, type Mapping, readMappings } from '../db/mapping/mappings.ts'
import { arrayText, type Fragment, type Pool, type Transaction } from '../db/sql.ts'
import { withoutTrace } from './without-trace.ts'

/** A problem of a file, and its remedy. The texts of both are sentences without a full stop. */
export interface Finding {
  file: string
  /** Null when PostgreSQL names no line. */
  line: number | null
  /** An `error` forbids the installation of the mapping; a `warning` does not. */
  level: 'error' | 'warning'
  problem: string
  remedy: string
  /** Up to ten keys of the rows with the problem. */
  keys: string[]
}

export interface CheckedMapping {
  findings: Finding[]
  /** The columns that the mapping reads. Each key is the qualified name of a table; all names are quoted for SQL. */
  columns: ReadonlyMap<string, ReadonlySet<string>>
  /** The statements that let the login read these columns. */
  grants: string[]
}

/** A change that the installation of the mapping would make to the records of a type. */
export interface RecordChange {
  record: string
  /** `appear`: the records are new in the lists. `leave`: they leave the lists. `differ`: their columns change. */
  change: string
  records: number
  firstKey: string
  /** The columns in which the first record (`firstKey`) would change. */
  columns: string[]
}

/**
 * Checks the mapping of a folder in a transaction that is rolled back. The check reads all rows, and takes no lock that
 * blocks a writer of the platform. When the schema `gateway` does not exist, the transaction creates the schema too.
 *
 * @param sql connections of the login that will install the mapping
 * @param path the schemas of names without a schema
 * @param staged definitions of tables that the check creates when they do not exist (sql/0015); when there are any, the
 * check reads no rows
 * @returns `changes`: the changes of types whose mapping differs from the installed one
 * @throws an Error when the folder has no mapping, or has a rule for a type without a mapping; an error of the
 * connection, or of a lock
 */
export async function checkMapping(
  sql: Pool,
  folder: string,
  path?: string,
  staged: readonly object[] = [],
): Promise<CheckedMapping & { changes: RecordChange[] }> {
  const mappings = readMappings(folder, path)
  if (mappings.length === 0) throw new Error(`The folder ${folder} has no mapping, for example voucher.sql.`)
  return withoutTrace(sql, async transaction => {
    for (const table of staged) {
      await transaction`
        select /* adoption.stage_table */ gateway.stage_table(definition, false)
        from (select ${JSON.stringify(table)}::text::jsonb as definition) one
        where to_regclass(format('%I.%I', definition ->> 'schema', definition ->> 'name')) is null`
    }
    return new Check(transaction).run(mappings, staged.length === 0)
  })
}

/** A finding as a function in sql/functions/adoption returns it. */
type FindingDetails = Omit<Finding, 'file' | 'line' | 'keys'> & { keys?: string[] | null }

class Check {
  readonly #findings: Finding[] = []
  /** The schemas on which the login needs `usage`, to read the mapping's tables. */
  readonly #schemas = new Set<string>()
  /** The columns that the mapping reads, by the qualified names of the tables. */
  readonly #columns = new Map<string, Set<string>>()

  constructor(private readonly sql: Transaction) {}

  async run(mappings: Mapping[], readsRows: boolean) {
    const [types] = await this.sql<[{ names: string[] }]>`
      select /* adoption.read_types */ to_json(enum_range(null::gateway.record_type)) as names`
    const viewed: Mapping[] = []
    for (const mapping of mappings) {
      const { record, select, path } = mapping
      const file = `${record}.sql`
      if (!types.names.includes(record)) {
        const remedy = `Name it after one of these: ${types.names.join(', ')}`
        this.#add(file, { level: 'error', problem: `There is no type of record ${record}`, remedy })
        continue
      }
      if (await this.#createView(file, `mapped_${record}`, select, path)) viewed.push(mapping)
    }
    if (!mappings.some(({ record }) => record === 'tenant')) {
      const remedy = `Add it. A platform of one shop may have: select 1 as key, 'The name of the shop' as name`
      this.#add('tenant.sql', { level: 'error', problem: 'The file is missing, but each record has a tenant', remedy })
    }
    const sound: Mapping[] = []
    for (const mapping of viewed) {
      const before = this.#findings.length
      await this.#checkSources(mapping)
      if (this.#hasNoError(before)) sound.push(mapping)
    }
    for (const { record } of readsRows ? sound : []) {
      await this.#collect(`${record}.sql`, this.sql`/* adoption.find_rows */ gateway.find_row_faults(${record})`)
    }
    const changes = readsRows && this.#hasNoError(0) ? await this.#findChanges(mappings) : []
    // This check is the last, because it locks tables of the gateway until the transaction ends.
    for (const { record, select, rules, path } of sound) {
      const file = `${record}.sql`
      const isPrepared = await this.#attempt(
        file,
        sql => sql`call /* adoption.prepare_mapping */ gateway.prepare_mapping(
          ${record}, ${select}, ${JSON.stringify(rules)}::text::jsonb, false, ${path})`,
      )
      if (isPrepared)
        await this.#collect(file, this.sql`/* adoption.find_code */ gateway.find_code_of_others(${record})`)
    }
    return { findings: this.#findings, changes, columns: this.#columns, grants: await this.#describeGrants() }
  }

  async #findChanges(mappings: Mapping[]): Promise<RecordChange[]> {
    const changes = await this.sql<RecordChange[]>`
      select /* adoption.find_changes */ installed.record::text as record, change, records, first_key as "firstKey",
             to_json(columns) as columns
      from (select record, files || jsonb_build_object('record', record) as given from gateway.mapping) installed
      cross join lateral gateway.find_changes(installed.record)
      where given not in (select jsonb_array_elements(${JSON.stringify(mappings)}::text::jsonb))
      order by installed.record, change`
    for (const { record, records, firstKey } of changes.filter(({ change }) => change === 'leave')) {
      const problem = `${records.toLocaleString('en')} of its records would leave the lists: the select has no rows of their keys`
      const remedy = 'If that is not meant, keep the former keys. The command `adopt diff` shows all that would change'
      this.#add(`${record}.sql`, { level: 'warning', problem, remedy, keys: [firstKey] })
    }
    return changes
  }

  /** Checks the columns of a mapping, the tables that the mapping reads, and the rules of the mapping. */
  async #checkSources({ record, rules, path }: Mapping): Promise<void> {
    const file = `${record}.sql`
    const { sql } = this
    await this.#collect(file, sql`/* adoption.find_columns */ gateway.find_column_faults(${record})`)
    if (await this.#collect(file, sql`/* adoption.find_sources */ gateway.find_source_faults(${record})`)) {
      const ruled = arrayText(Object.keys(rules))
      await this.#collect(
        file,
        sql`/* adoption.find_missing_rules */ gateway.find_missing_rules(${record}, ${ruled}::text::text[])`,
      )
    }
    await this.#addColumns(`mapped_${record}`)
    const sources = await sql<{ name: string; table: string; qualified: string }[]>`
      select /* adoption.read_sources */ gateway.name_of(source) as name, relname as table, nspname || '.' || relname as qualified
      from gateway.relations_read_by(gateway.view_of(${record})) source
      join pg_class on pg_class.oid = source join pg_namespace on pg_namespace.oid = relnamespace
      where relkind in ('r', 'p')`
    for (const [name, query] of Object.entries(rules)) {
      const ruleFile = `${record}.from.${name}.sql`
      const source = sources.find(({ table, qualified }) => table === name || qualified === name)
      if (source) await this.#checkRule(record, ruleFile, source.name, query, path)
      else {
        const remedy = `Delete it, or name it after a table that ${file} reads: ${sources.map(({ table }) => table).join(', ')}`
        this.#add(ruleFile, { level: 'error', problem: `${file} reads no table ${name}`, remedy })
      }
    }
  }

  async #checkRule(record: string, file: string, source: string, query: string, path: string): Promise<void> {
    // The view has one row, because a step evaluates a rule for few rows, and PostgreSQL should make the plan for few
    // rows.
    await this.sql.unsafe(`create temporary view changed as select * from jsonb_populate_record(null::${source}, '{}')`)
    if (await this.#createView(file, 'affected', query, path)) {
      await this.#collect(
        file,
        this.sql`/* adoption.find_rule */ gateway.find_rule_faults(${record}, ${source}::text::regclass, ${file})`,
      )
      await this.#addColumns('affected', source)
    }
    await this.sql`drop view /* adoption.drop_changed */ pg_temp.changed cascade`
  }

  /** Creates a view that voucher_gateway_reader may evaluate. @returns true when PostgreSQL accepts the query */
  async #createView(file: string, name: string, query: string, path: string): Promise<boolean> {
    const isCreated = await this.#attempt(
      file,
      sql => sql`call /* adoption.create_view */ gateway.create_view(${name}, ${query}, ${path})`,
    )
    if (isCreated)
      await this.#collect(file, this.sql`/* adoption.find_literals */ gateway.find_literal_faults(${name}, ${query})`)
    return isCreated
  }

  /** Adds the columns that a view reads. @param source the table whose rows `changed` has */
  async #addColumns(view: string, source?: string): Promise<void> {
    const columns = await this.sql<{ schema_name: string; table_name: string; column_name: string }[]>`
      select schema_name, table_name, column_name
      from /* adoption.read_columns */ gateway.columns_read_by(to_regclass(${`pg_temp.${view}`}), to_regclass(${source ?? null}))`
    for (const { schema_name, table_name, column_name } of columns) {
      this.#schemas.add(schema_name)
      this.#columns.set(table_name, (this.#columns.get(table_name) ?? new Set()).add(column_name))
    }
  }

  async #describeGrants(): Promise<string[]> {
    const [{ login }] = await this.sql<[{ login: string }]>`
      select /* adoption.read_login */ quote_ident(current_user) as login`
    return [
      ...[...this.#schemas].map(schema => `grant usage on schema ${schema} to ${login};`),
      ...[...this.#columns].map(([table, names]) => `grant select (${[...names].join(', ')}) on ${table} to ${login};`),
    ]
  }

  #add(file: string, { keys, ...found }: FindingDetails, line: number | null = null) {
    this.#findings.push({ file, line, ...found, keys: keys ?? [] })
  }

  /** Calls a SQL function and adds its findings. @returns true when no finding is an error */
  async #collect(file: string, call: Fragment): Promise<boolean> {
    const before = this.#findings.length
    await this.#attempt(file, async sql => {
      for (const found of await sql<FindingDetails[]>`select * from ${call}`) this.#add(file, found)
    })
    return this.#hasNoError(before)
  }

  /** @param from the index of the first finding that counts */
  readonly #hasNoError = (from: number) => this.#findings.slice(from).every(({ level }) => level === 'warning')

  /**
   * Runs statements in a savepoint, and turns an error of a statement into a finding.
   *
   * @returns true without an error
   */
  async #attempt(file: string, run: (sql: Transaction) => Promise<unknown>): Promise<boolean> {
    try {
      await this.sql.savepoint(run)
      return true
    } catch (error) {
      if (!(error instanceof postgres.PostgresError) || notOfMapping.test(error.code)) throw error
      const remedy = error.hint?.replace(/\.$/, '') ?? remedies[error.code] ?? 'Correct the statement'
      const { internal_query = error.query, internal_position = error.position } = error
      this.#add(file, { level: 'error', problem: error.message, remedy }, lineAt(internal_query, internal_position))
      return false
    }
  }
}

/**
 * The SQLSTATEs of errors for which no file is the cause: connection, resources, locks, operator intervention, system.
 */
const notOfMapping = /^(08|53|55P03|57|58|40)/

/** The remedies of errors for which PostgreSQL gives no hint, by SQLSTATE. */
const remedies: Record<string, string> = {
  '42501': 'Let the owner of the table run the grants below',
  '42703': 'Correct the name of the column',
  '42P01': 'Correct the name of the table, and write it with its schema',
}
