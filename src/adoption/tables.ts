/** Reads the tables of a platform from its catalog. */
import type { Sql } from '../db/sql.ts'

export interface Column {
  name: string
  /** The name as SQL. */
  sql: string
  /** The name of the column's type in `pg_type`; for a domain the name of the base type; `enum` for any enum. */
  type: string
  /** The values of an enum type, in the order of the type; empty for any other type. */
  labels: string[]
  /** True when the primary key has only this column. */
  isKey: boolean
  /**
   * The `path` of the table whose primary key the column refers to by a foreign key; null without such a foreign key.
   */
  target: string | null
}

export interface Table {
  /**
   * The name of the table in the name of a rule's file; with the schema when several schemas have a table of this name.
   */
  source: string
  name: string
  /** The name with the schema, as SQL. */
  path: string
  /** The alias that qualifies the columns, as SQL. */
  alias: string
  columns: Column[]
}

/**
 * Reads the tables of all schemas except the system's and `gateway`. The schema with the most tables, probably the
 * platform's own, comes first. Leaves out tables whose names cannot be names of files.
 */
export const readTables = (sql: Sql) => sql<Table[]>`
  select /* adoption.read_tables */ source, name, path, quote_ident(source) as alias, columns
  from (
    select pg_class.oid, relname as name, format('%I.%I', nspname, relname) as path,
           case when count(*) over (partition by relname) = 1 then relname else nspname || '.' || relname end as source,
           count(*) over (partition by nspname) as siblings
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'p') and not relispartition and nspname !~ '^(pg_.*|information_schema|gateway)$'
      and nspname || relname !~ '[[:cntrl:]/\\\\]'
  ) platform
  cross join lateral (
    select coalesce(json_agg(json_build_object(
      'name', attname, 'sql', quote_ident(attname),
      'type', case base.typtype when 'e' then 'enum' else base.typname end,
      'labels', array(select enumlabel from pg_enum where enumtypid = base.oid order by enumsortorder),
      'isKey', exists (select from pg_index
                       where indrelid = attrelid and indisprimary and indnkeyatts = 1 and indkey[0] = attnum),
      'target', (select format('%I.%I', target_space.nspname, target.relname)
                 from pg_constraint
                 join pg_index on indexrelid = conindid and indisprimary
                 join pg_class target on target.oid = confrelid
                 join pg_namespace target_space on target_space.oid = target.relnamespace
                 where conrelid = attrelid and contype = 'f' and conkey = array[attnum] limit 1)
    ) order by attnum), '[]') as columns
    from pg_attribute
    join pg_type on pg_type.oid = atttypid
    join pg_type base on base.oid = coalesce(nullif(pg_type.typbasetype, 0), pg_type.oid)
    where attrelid = platform.oid and attnum > 0 and not attisdropped
  ) of_table
  order by siblings desc, path`
