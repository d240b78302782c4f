-- Installs a rule. A rule finds the records of a type that show a row of a source. If the row itself does not have the
-- key, creates a function that returns the keys for rows.
--
-- query: a select of the keys over the table `changed`, which has rows of the source; null when the primary key is the
-- key.
-- path: the schemas of unqualified names in it.
-- shown: the columns that records show; null when they are unknown.
create or replace procedure gateway.install_rule(ruled gateway.record_type, source regclass, query text, path text, shown text[])
language plpgsql
as $procedure$
declare
  table_name constant text := gateway.name_of(source);
  function_name constant text := gateway.function_of(table_name, ruled || 's_of_');
  key_columns text[];
  types text;
begin
  if query is null then
    key_columns := array(
      select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
      where indrelid = source and indisprimary);
    if cardinality(key_columns) <> 1 then
      raise exception 'The type % needs a rule for table %, which has no primary key of one column.', ruled, table_name;
    end if;
  else
    execute format('create temporary table changed as select * from %s with no data', source);
    call gateway.create_view('affected', query, path);
    select array_agg(attname::text order by attnum),
           string_agg(format('values_of_row[%s]::%s as %I', place, format_type(atttypid, atttypmod), attname), ', ' order by attnum)
    into key_columns, types
    from (
      select attribute.*, row_number() over (order by attnum) as place
      from pg_attribute attribute
      cross join (
        select array_agg(refobjsubid) as numbers from gateway.view_reference
        where reader = 'pg_temp.affected'::regclass and refobjid = 'pg_temp.changed'::regclass and refobjsubid > 0
      ) read
      -- A rule that reads no column returns the same keys for each row.
      where attrelid = 'pg_temp.changed'::regclass and attnum > 0 and attnum = any(coalesce(read.numbers, array[attnum]))
    ) read_column;
    if cardinality(key_columns) = 1 and pg_get_viewdef('pg_temp.affected')
         ~ format('^ SELECT (changed\.)?%s( AS \w+)?\s+FROM changed;$', quote_ident(key_columns[1]))
    then
      query := null;
    else
      call gateway.create_reader(
        function_name || '(changed_rows text[])', 'setof text stable',
        format('return query with changed as (select %s from (select unnest($1)::text[] as values_of_row) one)
                select distinct affected::text from (%s) key (affected);', types, rtrim(pg_get_viewdef('pg_temp.affected'), ';')));
      call gateway.note_reads(ruled, 'pg_temp.affected', 'pg_temp.affected');
    end if;
    drop view pg_temp.affected;
    drop table pg_temp.changed;
  end if;
  -- The triggers depend only on the columns of the rule, and on whether these columns are the key.
  insert into gateway.rule (record, source, columns, affects, shown)
  select ruled, table_name, key_columns, case when query is not null then function_name end, case when query is not null then shown end
  on conflict on constraint rule_pkey do update
  set columns = excluded.columns, affects = excluded.affects, shown = excluded.shown,
      is_captured = rule.is_captured
        and (rule.columns, rule.affects, rule.shown) is not distinct from (excluded.columns, excluded.affects, excluded.shown);
end $procedure$;
