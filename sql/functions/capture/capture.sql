-- Creates the functions and the triggers that capture a source for its rules. Each call replaces these functions and
-- triggers, or drops them when the source has no rule.
--
-- The functions run with the rights of their owner, so a caller's settings must not change their meaning: each name and
-- operator in the functions is qualified. So the functions need no `set search_path`, which would take a tenth of the
-- time of a transaction that writes one row. concat() converts keys to text, because a cast may call a function of the
-- owner of the column's type. The functions set other settings only if the texts of the keys depend on them.
--
-- A write does not fail when the platform has renamed, dropped or retyped a column: the function then notes all
-- records.
create or replace procedure gateway.capture(captured regclass)
language plpgsql set search_path = pg_catalog, pg_temp
as $procedure$
declare
  table_name constant text := gateway.name_of(captured);
  types constant text := (select string_agg(quote_literal(record), ', ' order by record) from gateway.rule where source = table_name);
  is_partitioned constant boolean := (select relkind = 'p' from pg_class where oid = captured);
  statement_function constant text := gateway.function_of(table_name, 'capture_rows_of_');
  row_function constant text := gateway.function_of(table_name, 'capture_row_of_');
  mapped record;
  same_shown constant text := $sql$
    if tg_op operator(pg_catalog.=) 'UPDATE' then
      if pg_catalog.record_image_eq(row(%s), row(%s)) then new_key := ''; old_key := ''; end if;
    end if;$sql$;
  names jsonb; -- The values for the templates.
  of_rows text;
  settings text;
  insert_notes text := '';
  update_notes text := '';
  row_notes text := '';
begin
  perform from gateway.rule where source = table_name for update; -- Another session may capture it at the same time.
  if types is null then
    execute (select string_agg(format('drop trigger %I on %s', tgname, tgrelid::regclass), '; ')
             from gateway.tables_of(captured) part join pg_trigger on tgrelid = part
             where tgparentid = 0 and tgname like 'capture\_%');
    execute format('drop function if exists %s, %s', statement_function, row_function);
    return;
  end if;

  -- A table that was created again lacks the rights.
  call gateway.grant_sources();
  for mapped in
    select record, case when affects is not null then table_name end as rule_source, shown is null as shows_any,
           format('%s has no column %s, or more than 10,000 bytes in it.', table_name, string_agg(name, ' or ')) as reason,
           (select string_agg(format('''*''::pg_catalog.text as %I', read), ', ')
            from (select unnest(columns) union select unnest(shown)) one (read)) as names,
           (select coalesce(string_agg(quote_ident(read), ', '), '') from unnest(shown) read) as shown_columns,
           (select coalesce(string_agg(format('new.%I', read), ', '), '') from unnest(shown) read) as new_shown,
           (select coalesce(string_agg(format('old.%I', read), ', '), '') from unnest(shown) read) as old_shown,
           string_agg(format('%I is not null', name), ' or ') as has_key,
           format('(pg_catalog.octet_length(noted.key) operator(pg_catalog.>) 10000 or %s)', case
             when affects is null then 'noted.key operator(pg_catalog.=) ''*'''
             else '''*'' operator(pg_catalog.=) any (noted.key::pg_catalog.text[]) is true' end) as is_missing,
           format(form, string_agg(format(value || ' collate pg_catalog."C"', quote_ident(name)), ', ' order by place)) as key,
           format(form, string_agg(format(value, 'new.' || quote_ident(name)), ', ' order by place)) as new_key,
           format(form, string_agg(format(value, '($1).' || quote_ident(name)), ', ' order by place)) as any_key
    from gateway.rule, unnest(columns) with ordinality as one (name, place),
         lateral (select case when affects is null then '%s' else '(array[%s])::pg_catalog.text' end as form,
                         case when affects is null then 'pg_catalog.concat(%s)'
                              else 'case when (%1$s) is distinct from null then pg_catalog.concat(%1$s) end' end as value) text_of_key
    where source = table_name group by record, affects, columns, shown, form, value order by record
  loop
    names := jsonb_build_object(
      'record', quote_literal(mapped.record), 'source', quote_nullable(mapped.rule_source), 'reason', quote_literal(mapped.reason),
      'is_missing', mapped.is_missing, 'names', mapped.names, 'key', mapped.key, 'has_key', mapped.has_key, 'shown', mapped.shown_columns,
      'new_key', mapped.new_key, 'old_key', replace(mapped.new_key, '(new.', '(old.'),
      'any_key', quote_literal('select ' || mapped.any_key),
      'same_shown', case when not mapped.shows_any then format(same_shown, mapped.new_shown, mapped.old_shown) end);
    of_rows := format('select %1$s as key from changed where %2$s', mapped.key, mapped.has_key);
    insert_notes := concat(insert_notes, E'\n    ', gateway.filled('capture_note', names || jsonb_build_object('keys', of_rows)));
    update_notes := concat(update_notes, E'\n    ', gateway.filled('capture_note', names || jsonb_build_object('keys',
      case when mapped.shows_any then concat(of_rows, ' union ', replace(of_rows, 'from changed where', 'from former where'))
           else E'\n      ' || gateway.filled('capture_shown', names) end)));

    -- A missing field, or a field whose type has changed since the session first used it, raises an error. The second
    -- block handles it.
    row_notes := concat(row_notes, E'\n', gateway.filled('capture_row', names));
  end loop;

  -- Keys must have the usual text, even in a session with other formats of dates or numbers.
  settings := (select E'\nset datestyle = ''ISO, YMD'' set timezone = ''UTC'' set intervalstyle = postgres set extra_float_digits = 1'
                      ' set bytea_output = hex'
               where exists (select from gateway.rule join pg_attribute on attrelid = captured and attname = any (columns)
                             join pg_type on pg_type.oid = atttypid
                             where source = table_name and (typcategory in ('A', 'C', 'D', 'R', 'T') or typname like 'float_' or typname = 'bytea')));
  execute gateway.filled('capture', jsonb_build_object(
    'statement_function', statement_function, 'row_function', row_function, 'settings', settings,
    'insert_notes', insert_notes, 'update_notes', update_notes, 'row_notes', row_notes));

  -- Rows that were written while a trigger was missing were not noted.
  insert into gateway.note (record, reason)
  select record, 'Capture was created again.' from gateway.rule where source = table_name;

  -- A partition inherits row triggers. A partition that was captured before it was attached also has its own triggers.
  execute (select coalesce(string_agg(format('drop trigger %I on %s', tgname, tgrelid::regclass), '; '), '')
           from pg_partition_tree(captured) join pg_trigger on tgrelid = relid
           where relid <> captured and tgparentid = 0 and tgname like 'capture\_%' and tgname <> 'capture_truncated');
  execute (select string_agg(gateway.filled('capture_truncated_trigger', jsonb_build_object('table', part, 'types', types)), '')
           from gateway.tables_of(captured) part);
  execute gateway.filled('capture_row_trigger', jsonb_build_object(
    'table', captured, 'function', row_function, 'mode', case when is_partitioned then 'always' else 'replica' end));
  update gateway.rule set is_captured = true where source = table_name;
  -- In ordinary sessions, statement triggers note all rows of a statement together. Appliers of replication do not fire
  -- them, and partitions do not inherit them.
  if not is_partitioned then
    execute gateway.filled('capture_statement_triggers', jsonb_build_object('table', captured, 'function', statement_function));
  end if;
  call gateway.revoke_from_others();
end $procedure$;
