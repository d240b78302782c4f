/** Reads the tables of a platform on another server from its catalog. */
import { arrayText, type Sql } from '../db/sql.ts'

/**
 * A table of the platform, with the properties that its staged table needs. The texts are names and values, not SQL.
 */
export interface PlatformTable {
  platform_oid: number
  schema: string
  name: string
  /** True for a table or a partitioned table; false for a view or a foreign table. */
  is_table: boolean
  /** Each column also has the attributes of `gateway.platform_column` (sql/0015), which only PostgreSQL reads. */
  columns: { name: string }[]
  /** The expressions of generated columns, by the name of the column. Generated columns are not replicated. */
  generated: Record<string, string>
  /**
   * The columns with which the WAL of the platform identifies changed rows (the replica identity); empty without such
   * columns.
   */
  key: string[]
  /** The parts of the catalog that `gateway.follow_table` compares. */
  marks: Record<string, unknown>
  /** The file numbers of partitions that already had rows when they were attached. */
  attached: number[]
  /** The columns of indexes. */
  indexes: string[][]
  /** The reason why the table cannot be published, and the remedy; null when the table can be published. */
  problem: [what: string, remedy: string] | null
}

/** Quotes an identifier for SQL, and doubles each quotation mark in it. */
export const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Returns the name of a table with its schema, as SQL. */
export const pathOf = ({ schema, name }: Pick<PlatformTable, 'schema' | 'name'>) =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`

/**
 * Reads the tables of all schemas except the system schemas. A partitioned table counts as one table. `columns` does
 * not include generated columns, because they are not replicated.
 *
 * @param sql the database of the platform
 * @param oids the tables to read; default: all tables, and all views and foreign tables, which always have a `problem`
 */
export const readPlatformTables = (sql: Sql, oids: readonly number[] | null = null) => sql<PlatformTable[]>`
  select /* platform.read_tables */ pg_class.oid::bigint as platform_oid, nspname as schema, relname as name,
    relkind in ('r', 'p') as is_table, columns, generated, key, marks, attached, indexes,
    to_json(string_to_array(case
         when relkind not in ('r', 'p') then format(
           'is a %s, which no log has. Write its query in the place of its name, over the tables that it reads.',
           case relkind when 'f' then 'foreign table' else 'view' end)
         when unreadable is not null then format(
           'is not readable for %1$I. Let its owner run at the platform: grant usage on schema %2$I to %1$I; grant select on %2$I.%3$I to %1$I;',
           current_user, nspname, relname)
         when heirs is not null then format(
           'has tables that inherit from it (%s), whose rows are not in its changes. Make them its partitions, or let the mapping read them alone.',
           heirs)
         when relpersistence = 'u' then format('is unlogged. Run at the platform: alter table %I.%I set logged;', nspname, relname)
         when row_security_active(pg_class.oid)
           then format('shows %I only some of its rows. Let a superuser of the platform run: alter role %1$I bypassrls;', current_user)
         when key = '[]' and not is_full then format(
           'has no key by which updates and deletions are replicated. Run at the platform: alter table %I.%I %s;', nspname, relname, coalesce((
             select format('replica identity using index %I', index_class.relname)
             from pg_index join pg_class index_class on index_class.oid = indexrelid
             where indrelid = pg_class.oid and pg_class.relkind = 'r' and indisunique and indimmediate and indpred is null and (
               select bool_and(coalesce(attnotnull, false)) from unnest(indkey::smallint[]) number
               left join pg_attribute on attrelid = indrelid and attnum = number)
             order by indexrelid limit 1),
             (select 'replica identity full' from pg_index where indrelid = pg_class.oid and pg_class.relkind = 'r' and indisprimary),
             'add primary key (…)'))
    end, '. ')) as problem
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  cross join lateral (
    select coalesce(json_agg(json_build_object(
      'place', attnum, 'name', attname, 'type', type, 'standard', (attmissingval::text::text[])[1],
      'is_copied', attmissingval is null and (atthasdef or attidentity <> '')
    ) order by attnum) filter (where attgenerated = ''), '[]') as columns,
      coalesce(json_object_agg(attname, pg_get_expr(adbin, adrelid)) filter (where attgenerated <> ''), '{}') as generated
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    join pg_type own on own.oid = atttypid
    join pg_type base on base.oid = case own.typtype when 'd' then own.typbasetype else own.oid end
    cross join lateral (
      select case when base.typnamespace = 'pg_catalog'::regnamespace and base.typtype in ('b', 'r', 'm')
                    -- Without a key, all columns of a row are compared.
                    and not (relreplident = 'f' and base.typname ~ '^_?(json|xml|point|lseg|line|box|path|polygon|circle)$')
                    then format_type(base.oid, -1)
                  when base.typcategory = 'A' then 'text[]' else 'text' end as type
    ) staged
    where attrelid = pg_class.oid and attnum > 0 and not attisdropped
  ) of_columns
  cross join lateral (
    select coalesce(jsonb_agg(attname order by place), '[]') as key, string_agg(number::text, ' ' order by place) as key_places
    from pg_index
    cross join lateral unnest(indkey::smallint[]) with ordinality as part (number, place)
    join pg_attribute on attrelid = indrelid and attnum = number
    -- Partitions have the primary key of their table, but not its replica identity. No log has a deferrable key.
    where indrelid = pg_class.oid and case when relkind = 'p' or relreplident = 'd' then indisprimary and indimmediate
                                           when relreplident = 'i' then indisreplident
                                           else relreplident = 'f' and indisprimary end
  ) of_key
  cross join lateral (
    select json_object_agg(name, mark) as marks
    from (values ('key', to_json(key_places)), ('file', to_json(relfilenode::bigint))
          union all
          select 'columns', json_object_agg(attnum, xmin::text order by attnum)
          from pg_attribute where attrelid = pg_class.oid and attnum > 0
          union all
          select 'generated', json_agg(attnum order by attnum)
          from pg_attribute where attrelid = pg_class.oid and attgenerated <> '' having count(*) > 0
          union all
          select pg_enum.oid::text, to_json(enumlabel)
          from pg_enum where enumtypid in (select atttypid from pg_attribute where attrelid = pg_class.oid)
          union all
          select 'partitions', json_agg(part.relfilenode::bigint order by part.relfilenode)
          from pg_partition_tree(pg_class.oid) join pg_class part on part.oid = relid
          where pg_class.relkind = 'p' and part.relkind = 'r' having count(*) > 0) marked (name, mark)
  ) of_marks
  cross join lateral (
    -- The command that creates a partition writes its columns. The command that attaches a table writes all columns again.
    select coalesce(json_agg(part.relfilenode::bigint), '[]') as attached
    from pg_partition_tree(pg_class.oid) leaf join pg_class part on part.oid = leaf.relid
    where pg_class.relkind = 'p' and part.relkind = 'r' and pg_relation_size(part.oid) > 0 and exists (
      select from pg_partition_ancestors(part.oid) above
      where above.relid <> pg_class.oid and not exists (
        select from pg_attribute own join pg_attribute system on own.xmin = system.xmin and own.cmin = system.cmin
        where own.attrelid = above.relid and own.attnum > 0 and system.attrelid = above.relid and system.attname = 'tableoid'))
  ) of_attached
  cross join lateral (
    select relreplident = 'f' and not exists (
      select from pg_partition_tree(pg_class.oid) join pg_class part on part.oid = relid where part.relreplident <> 'f') as is_full
  ) of_identity
  cross join lateral (
    select min(attnum) as unreadable
    from pg_attribute
    where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = '' and not (
      has_schema_privilege(relnamespace, 'usage') and has_column_privilege(attrelid, attnum, 'select'))
  ) of_rights
  cross join lateral (
    select string_agg(inhrelid::regclass::text, ', ') as heirs
    from pg_inherits where inhparent = pg_class.oid and pg_class.relkind = 'r'
  ) of_heirs
  cross join lateral (
    select coalesce(json_agg(names::json), '[]') as indexes
    from (select distinct (
            select json_agg(attname order by place)
            from unnest(indkey::smallint[]) with ordinality as part (number, place)
            join pg_attribute on attrelid = indrelid and attnum = number
            where place <= indnkeyatts)::text as names
          from pg_index join pg_class index_class on index_class.oid = indexrelid join pg_am on pg_am.oid = index_class.relam
          where indrelid = pg_class.oid and not indisprimary and indisvalid and indexprs is null and amname = 'btree') named
  ) of_indexes
  where (relkind in ('r', 'p') or ${oids === null} and relkind in ('v', 'm', 'f')) and not relispartition and relpersistence <> 't'
    and nspname !~ '^(pg_.*|information_schema|gateway)$'
    and (${oids === null} or pg_class.oid = any(${arrayText(oids ?? [])}::text::oid[]))
  order by schema, name`
