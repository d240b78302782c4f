/** Finds the lines that break a constraint, after PostgreSQL has rejected the rows. */
import type { Fragment, Sql } from '../db/sql.ts'
import { type ImportErrors, maxListedErrors } from './import-errors.ts'
import type { StagedFile } from './stage.ts'
import { type Constraint, columnList, stagingTable } from './table.ts'

/**
 * Adds an error for each row of a file that breaks a constraint of the file's table.
 *
 * @param files all files of the import
 * @param replace true when the import deletes rows whose keys are not in the files
 */
export async function findBrokenConstraints(
  sql: Sql,
  staged: StagedFile,
  files: StagedFile[],
  replace: boolean,
  errors: ImportErrors,
): Promise<void> {
  const given = staged.columns.map(({ name }) => name)
  for (const { columns, target } of staged.table.constraints) {
    if (!columns.every(name => given.includes(name))) continue
    const rows = await sql<{ line: number; reason: string; total: number }[]>`
      select /* import.find_broken_constraints */ line, reason, count(*) over () as total
      from (${target ? selectDangling(sql, staged, columns, target, files) : selectDuplicates(sql, staged, columns, replace)}) broken
      order by line limit ${maxListedErrors}`
    const found = rows.map(({ line, reason }) => ({ file: staged.source.name, line, reason }))
    errors.add(found, rows[0]?.total)
  }
}

/** Returns a query for the rows whose unique values are already in an earlier line, or in the table. */
function selectDuplicates(
  sql: Sql,
  { table, columns: all }: StagedFile,
  columns: string[],
  replace: boolean,
): Fragment {
  const given = columnList(sql, columns, 'given')
  const keys = all.filter(({ isKey }) => isKey).map(({ name }) => name)
  const rows = sql`${sql(stagingTable(table.name))}`
  return sql`
    select line, format('%s: %s is also in line %s', ${columns.join(', ')}::text, concat_ws(', ', ${given}), first) as reason
    from (
      select line, ${given}, min(line) over (partition by ${given}) as first
      from ${rows} given
      where (${given}) is not null
    ) given
    where line <> first
    union all
    select line, format('%s: %s belongs to the row with the key %s', ${columns.join(', ')}::text,
                        concat_ws(', ', ${given}), concat_ws(', ', ${columnList(sql, keys, 'kept')}))
    from ${rows} given
    join ${sql(`public.${table.name}`)} kept on (${given}) = (${columnList(sql, columns, 'kept')})
    where not ${replace}::boolean
      and not exists (select from ${rows} own where (${columnList(sql, keys, 'own')}) = (${columnList(sql, keys, 'kept')}))`
}

/** Returns a query for the rows that refer to a row which is neither in the table nor in a file. */
function selectDangling(
  sql: Sql,
  { table }: StagedFile,
  columns: string[],
  target: NonNullable<Constraint['target']>,
  files: StagedFile[],
): Fragment {
  const given = columnList(sql, columns, 'given')
  const isTarget = sql`(${columnList(sql, target.columns, 'target')}) = (${given})`
  const hasFile = files.some(({ table }) => table.name === target.table)
  return sql`
    select line, format('%s: no %s has the %s %s', ${columns.join(', ')}::text, ${target.table}::text,
                        ${target.columns.join(', ')}::text, concat_ws(', ', ${given})) as reason
    from ${sql(stagingTable(table.name))} given
    where (${given}) is not null
      and not exists (select from ${sql(`public.${target.table}`)} target where ${isTarget})
      ${hasFile ? sql`and not exists (select from ${sql(stagingTable(target.table))} target where ${isTarget})` : sql``}`
}
