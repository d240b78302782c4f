/** Reads the plain tables (`sql/plain-tables.sql`) from the catalog of the database. */
import type { Fragment, Sql } from '../db/sql.ts'

/** The names of the plain tables. A table comes after all tables that it refers to. */
export const tableNames = [
  ...['tenant', 'category', 'product', 'product_category', 'variant', 'purchased_voucher', 'customer'],
]

export interface Column {
  name: string
  /** The name of the column's type in PostgreSQL, for example `timestamp with time zone`. */
  type: string
  /** True for a column that is `not null`. */
  isRequired: boolean
  hasDefault: boolean
  /** True for an identity column, whose default is the next number of a sequence. */
  isIdentity: boolean
  /** True for a column of the primary key. */
  isKey: boolean
}

/** A unique constraint, a primary key or a foreign key, with its columns. */
export interface Constraint {
  columns: string[]
  /** The table and the columns that a foreign key refers to; null for other constraints. */
  target: { table: string; columns: string[] } | null
}

export interface PlainTable {
  name: string
  columns: Column[]
  constraints: Constraint[]
}

/** Reads the columns and the constraints of a plain table. @param name one of `tableNames` */
export async function readTable(sql: Sql, name: string): Promise<PlainTable> {
  const [table] = await sql<PlainTable[]>`
    select /* import.read_table */ relname as name,
      (select json_agg(json_build_object(
         'name', attname, 'type', format_type(atttypid, atttypmod), 'isRequired', attnotnull,
         'hasDefault', atthasdef, 'isIdentity', attidentity <> '',
         'isKey', attnum = any((select conkey from pg_constraint where conrelid = pg_class.oid and contype = 'p')::int2[]))
         order by attnum)
       from pg_attribute where attrelid = pg_class.oid and attnum > 0 and not attisdropped) as columns,
      (select json_agg(json_build_object(
         'columns', (select json_agg(attname order by place) from unnest(conkey) with ordinality as key (attnum, place)
                     join pg_attribute using (attnum) where attrelid = conrelid),
         'target', (select json_build_object('table', relname, 'columns', (
                      select json_agg(attname order by place) from unnest(confkey) with ordinality as key (attnum, place)
                      join pg_attribute using (attnum) where attrelid = confrelid))
                    from pg_class target where target.oid = confrelid))
         order by contype, conname)
       from pg_constraint where conrelid = pg_class.oid and contype in ('p', 'u', 'f')) as constraints
    from pg_class where oid = to_regclass('public.' || ${name}::text)`
  if (!table) throw new Error(`The database has no table public.${name}.`)
  return table
}

/** Returns the name of the temporary table for the rows of a file. Each row has the number of its line. */
export const stagingTable = (table: string): string => `staging_${table}`

/** Joins at least one fragment with a separator. */
export const joinFragments = (sql: Sql, fragments: Fragment[], separator: Fragment): Fragment =>
  fragments.reduce((all, next) => sql`${all}${separator}${next}`)

/** Returns an SQL list of columns. @param relation the name of the relation with the columns */
export const columnList = (sql: Sql, names: readonly string[], relation?: string): Fragment =>
  joinFragments(
    sql,
    names.map(name => sql`${sql(relation ? `${relation}.${name}` : name)}`),
    sql`, `,
  )
