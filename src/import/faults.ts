/** Faulty lines of files, and the search for them after PostgreSQL has refused the rows. */
import type { Fragment, Sql } from '../db/sql.ts'
import type { Staged } from './stage.ts'
import { type Constraint, columnList, joined, stagingOf, typedRows } from './table.ts'

export interface Fault {
  file: string
  /** From 1; null: the fault concerns the whole file. */
  line: number | null
  reason: string
}

/** The most faults that are listed; further ones are counted. */
const mostListed = 20

/** Collects faults. */
export class Faults {
  readonly listed: Fault[] = []
  count = 0

  /** Adds faults. @param count how many there are, when these are the first ones only */
  add(faults: Fault[], count = faults.length): void {
    this.listed.push(...faults.slice(0, mostListed - this.listed.length))
    this.count += count
  }
}

/** Lines are faulty, so nothing was imported. */
export class FaultyLinesError extends Error {
  constructor(readonly faults: Faults) {
    const { listed, count } = faults
    listed.sort((one, other) => one.file.localeCompare(other.file) || (one.line ?? 0) - (other.line ?? 0))
    const lines = listed.map(({ file, line, reason }) => `${file}${line === null ? '' : `:${line}`}: ${reason}`)
    if (count > lines.length) lines.push(`Further faults: ${(count - lines.length).toLocaleString('en')}.`)
    super([...lines, 'Nothing was imported. Correct the lines, and run the command again.'].join('\n'))
  }
}

/** What a value must be, by the type of its column. */
const expected: Record<string, string> = {
  bigint: 'a whole number, for example 12',
  integer: 'a whole number of 32 bits, for example 12',
  numeric: 'a number, for example 12.50',
  boolean: 'true or false',
  date: 'a date, for example 2026-01-31',
  'timestamp with time zone': 'a date and time, for example 2026-01-31T09:30:00Z',
  'text[]': 'a list of texts, for example {"a","b"}',
}

/** Returns the reason why a column cannot hold a value. */
export function wrongValue({ name, type }: { name: string; type: string }, value: unknown): string {
  if (value === null) return `${name}: a value is required`
  return `${name}: expected ${expected[type] ?? 'a text'}, not ${JSON.stringify(value).slice(0, 100)}`
}

/** Creates a function that tells whether a text is a value of a type: `pg_input_is_valid` exists from PostgreSQL 16 on. */
const isValid = `
  create or replace function /* import.is_valid */ pg_temp.is_valid(value text, type text) returns boolean
  language plpgsql as $$
  begin
    case type
      ${Object.keys(expected)
        .map(type => `when '${type}' then perform value::${type};`)
        .join(' ')}
      else null;
    end case;
    return true;
  exception when data_exception then
    return false;
  end $$`

/** Numbers the lines of a CSV file, whose rows were numbered: the header is a line, and a value may have several. */
const numberLines = (sql: Sql, staging: string) => sql`
  update /* import.number_lines */ ${sql(staging)} staged set line = numbered.line
  from (
    select ctid as place, 1 + row + coalesce(sum(breaks) over (order by row rows between unbounded preceding and 1 preceding), 0) as line
    from (
      select ctid, line as row, length(staging::text) - length(replace(staging::text, e'\n', '')) as breaks
      from ${sql(staging)} staging
    ) counted
  ) numbered
  where staged.ctid = numbered.place`

/** Adds the values that the columns of the table cannot hold. @returns whether there are any */
export async function findWrongValues(sql: Sql, { source, table, columns }: Staged, faults: Faults): Promise<boolean> {
  const staging = stagingOf(table.name)
  await sql.unsafe(isValid)
  if (source.format === 'csv') await numberLines(sql, staging)
  const cells = columns.map(
    ({ name, type, isRequired }) =>
      sql`(${name}::text, ${type}::text, ${isRequired}::boolean, ${sql(`staged.${name}`)})`,
  )
  const rows = await sql<{ line: number; name: string; type: string; value: string | null; total: number }[]>`
    select /* import.find_wrong_values */ line, cell.name, cell.type, value, count(*) over () as total
    from ${sql(staging)} staged, lateral (values ${joined(sql, cells, sql`, `)}) cell (name, type, is_required, value)
    where is_required and value is null or not pg_temp.is_valid(value, cell.type)
    order by line, cell.name collate "C" limit ${mostListed}`
  const found = rows.map(({ line, value, ...column }) => ({
    ...{ file: source.name, line, reason: wrongValue(column, value) },
  }))
  faults.add(found, rows[0]?.total)
  return rows.length > 0
}

/** Adds the rows that break a constraint of the table. All values of the file are right. */
export async function findBrokenConstraints(sql: Sql, staged: Staged, faults: Faults): Promise<void> {
  const given = staged.columns.map(({ name }) => name)
  for (const { columns, target } of staged.table.constraints) {
    if (!columns.every(name => given.includes(name))) continue
    const rows = await sql<{ line: number; reason: string; total: number }[]>`
      select /* import.find_broken_constraints */ line, reason, count(*) over () as total
      from (${target ? dangling(sql, staged, columns, target) : duplicates(sql, staged, columns)}) broken
      order by line limit ${mostListed}`
    faults.add(
      rows.map(({ line, reason }) => ({ file: staged.source.name, line, reason })),
      rows[0]?.total,
    )
  }
}

/** Selects the rows whose values another row has: one of an earlier line, or one of the table that has another key. */
function duplicates(sql: Sql, { table, columns: all }: Staged, columns: string[]): Fragment {
  const given = columnList(sql, columns, 'given')
  const keys = all.filter(({ isKey }) => isKey).map(({ name }) => name)
  return sql`
    select line, format('%s: %s is also in line %s', ${columns.join(', ')}::text, concat_ws(', ', ${given}), first) as reason
    from (
      select line, ${given}, min(line) over (partition by ${given}) as first
      from ${typedRows(sql, table.name, all)} given
      where (${given}) is not null
    ) given
    where line <> first
    union all
    select line, format('%s: %s belongs to the row with the key %s', ${columns.join(', ')}::text,
                        concat_ws(', ', ${given}), concat_ws(', ', ${columnList(sql, keys, 'kept')}))
    from ${typedRows(sql, table.name, all)} given
    join ${sql(`public.${table.name}`)} kept on (${given}) = (${columnList(sql, columns, 'kept')})
    where (${columnList(sql, keys, 'kept')}) <> (${columnList(sql, keys, 'given')})`
}

/** Selects the rows that refer to a row that neither the table nor the file has. */
function dangling(
  sql: Sql,
  { table, columns: all }: Staged,
  columns: string[],
  target: NonNullable<Constraint['target']>,
): Fragment {
  const given = columnList(sql, columns, 'given')
  const targets = columnList(sql, target.columns, 'target')
  const isOfItself = target.table === table.name
  return sql`
    select line, format('%s: no %s has the %s %s', ${columns.join(', ')}::text, ${target.table}::text,
                        ${target.columns.join(', ')}::text, concat_ws(', ', ${given})) as reason
    from ${typedRows(sql, table.name, all)} given
    where (${given}) is not null
      and not exists (select from ${sql(`public.${target.table}`)} target where (${targets}) = (${given}))
      ${isOfItself ? sql`and not exists (select from ${typedRows(sql, table.name, all)} target where (${targets}) = (${given}))` : sql``}`
}
