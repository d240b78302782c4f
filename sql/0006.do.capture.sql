-- Capture: triggers on the sources note which keys were written, and in which transaction. Nothing else happens in a writer's
-- transaction: a step (0008) reads the notes later.

-- Rows are only added, and deleted when no step needs them any more: a long transaction of others leaves no dead rows among
-- those that a step reads.
create table gateway.note (
  record    gateway.record_type not null,
  key       text, -- In the source; with a rule: the columns of the row that the rule reads. Null: all records of this type.
  reason    text, -- Why all of them.
  truncated boolean, -- True: the source lost rows that no other note names. Null, which takes no bytes: it did not.
  source    text, -- Whose rule leads from the key to those of the records (gateway.rule); null: it is one.
  xid       xid8 not null default pg_current_xact_id()
);
comment on table gateway.note is 'The keys of records that have to be evaluated, because a row of a source was written';
create index note_xid on gateway.note (xid);

-- Which records show a row of a source.
create table gateway.rule (
  record  gateway.record_type,
  source  text,          -- A table, with its schema.
  columns text[] not null, -- That lead to the keys of the records.
  affects text,          -- The function that returns these for some rows; null: the only column has the key.
  shown   text[],        -- With a function: those that records show. Updates of others are not noted. Null: not known, so all are.
  is_captured boolean not null default false, -- Whether the triggers of the source follow it.
  primary key (record, source)
);
grant select on gateway.rule to voucher_gateway;

-- Notes all records of the types that it takes, because a table was truncated.
create function gateway.capture_truncated() returns trigger
language plpgsql security definer
as $$
begin
  insert into gateway.note (record, reason, truncated)
  select pg_catalog.unnest(tg_argv)::gateway.record_type, 'The table was truncated.', true;
  return null;
end $$;

-- Returns the name of a relation with its schema.
create function gateway.name_of(relation regclass) returns text
language sql stable
return (select format('%I.%I', nspname, relname)
        from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = relation);

-- Returns the name of a function that is made for a table: with a digest of its name when PostgreSQL would cut the whole one.
create function gateway.function_of(table_name text, purpose text) returns text
language sql immutable
return format('gateway.%I', purpose || case when octet_length(purpose || table_name) < 64 then table_name else md5(table_name) end);

-- Returns a source and its partitions, at all levels. A foreign one is left out: its rows are written on another server.
create function gateway.tables_of(source regclass) returns setof regclass
language sql stable
begin atomic
  select part from (select source union select relid from pg_partition_tree(source)) tree (part)
  where (select relkind from pg_class where oid = part) <> 'f';
end;

-- Creates the functions and the triggers that capture a source for its rules; again, if it is called again. Drops them when it has
-- no rule.
--
-- The functions run with the rights of their owner, and read nothing that a caller can set: each name in them is qualified, also
-- of operators. So they need no `set search_path`, which takes a tenth of the time of a transaction of one row. concat() makes
-- texts of keys, because a cast may be a function of the owner of the column's type. Only where settings decide what these are, the
-- functions have some of their own.
--
-- A write never fails because the platform has renamed, dropped or retyped a column: then all records are noted.
create procedure gateway.capture(captured regclass)
language plpgsql
as $procedure$
declare
  table_name constant text := gateway.name_of(captured);
  types constant text := (select string_agg(quote_literal(record), ', ' order by record) from gateway.rule where source = table_name);
  is_partitioned constant boolean := (select relkind = 'p' from pg_class where oid = captured);
  statement_function constant text := gateway.function_of(table_name, 'capture_rows_of_');
  row_function constant text := gateway.function_of(table_name, 'capture_row_of_');
  mapped record;
  -- The query of the keys follows. When the table has no such column any more, its name means the column of `missing`. An exception
  -- block costs a subtransaction.
  note_statement constant text := $sql$
    insert into gateway.note (record, key, reason, source)
    select %1$L, case when not %2$s then noted.key end, case when %2$s then %3$L end, %4$L
    from (select %5$s) as missing, lateral ($sql$;
  inserted constant text := 'select %1$s as key from changed where %2$s';
  updated constant text := 'select %1$s as key from changed where %2$s union select %1$s from former where %2$s';
  -- Compares what records show as the bytes that are stored: by its settings, a session has the same text for different values. As
  -- many rows before and after the update have each of these, unless it changes them.
  updated_shown constant text := $sql$
      select distinct key from (
        select key, shown, pg_catalog.sum(side) over (partition by key order by shown using operator(pg_catalog.*<)) as surplus from (
          select %1$s as key, row(%3$s) as shown, 1 as side from changed where %2$s
          union all select %1$s, row(%3$s), -1 from former where %2$s) as row) as counted
      where surplus operator(pg_catalog.<>) 0 or pg_catalog.strpos(pg_catalog.concat(shown), '*') operator(pg_catalog.>) 0$sql$;
  same_shown constant text := $sql$
    if tg_op operator(pg_catalog.=) 'UPDATE' then
      if pg_catalog.record_image_eq(row(%s), row(%s)) then new_key := ''; old_key := ''; end if;
    end if;$sql$;
  note text;
  settings text;
  insert_notes text := '';
  update_notes text := '';
  row_notes text := '';
begin
  if types is null then
    execute (select string_agg(format('drop trigger %I on %s', tgname, tgrelid::regclass), '; ')
             from gateway.tables_of(captured) part join pg_trigger on tgrelid = part
             where tgparentid = 0 and tgname like 'capture\_%');
    execute format('drop function if exists %s, %s', statement_function, row_function);
    return;
  end if;

  for mapped in
    select record, case when affects is not null then table_name end as rule_source, shown is null as shows_any,
           format('%s has no column %s.', table_name, string_agg(name, ' or ')) as reason,
           (select string_agg(format('''*''::pg_catalog.text as %I', read), ', ')
            from (select unnest(columns) union select unnest(shown)) one (read)) as names,
           (select coalesce(string_agg(quote_ident(read), ', '), '') from unnest(shown) read) as shown_columns,
           (select coalesce(string_agg(format('new.%I', read), ', '), '') from unnest(shown) read) as new_shown,
           (select coalesce(string_agg(format('old.%I', read), ', '), '') from unnest(shown) read) as old_shown,
           string_agg(format('%I is not null', name), ' or ') as has_key,
           case when affects is null then 'noted.key operator(pg_catalog.=) ''*'''
                else '''*'' operator(pg_catalog.=) any (noted.key::pg_catalog.text[])' end as is_missing,
           format(form, string_agg(format('pg_catalog.concat(%I) collate pg_catalog."C"', name), ', ' order by place)) as key,
           format(form, string_agg(format('pg_catalog.concat(new.%I)', name), ', ' order by place)) as new_key,
           format(form, string_agg(format('pg_catalog.concat(($1).%I)', name), ', ' order by place)) as any_key
    from gateway.rule, unnest(columns) with ordinality as one (name, place),
         lateral (select case when affects is null then '%s' else '(array[%s])::pg_catalog.text' end as form) text_of_key
    where source = table_name group by record, affects, columns, shown, form order by record
  loop
    note := format(note_statement, mapped.record, mapped.is_missing, mapped.reason, mapped.rule_source, mapped.names);
    insert_notes := concat(insert_notes, note, format(inserted, mapped.key, mapped.has_key), ') as noted;');
    update_notes := concat(update_notes, note, format(case when mapped.shows_any then updated else updated_shown end,
                                                      mapped.key, mapped.has_key, mapped.shown_columns), ') as noted;');

    -- A field that is missing, or has another type than when the session first used it, is an error. The second block finds out.
    row_notes := row_notes || format($sql$
  new_key := '';
  old_key := '';
  begin
    if tg_op operator(pg_catalog.<>) 'DELETE' then new_key := %3$s; end if;
    if tg_op operator(pg_catalog.<>) 'INSERT' then old_key := %4$s; end if;%7$s
  exception when others then
    begin
      execute %5$L into new_key using new;
      execute %5$L into old_key using old;
    exception when others then
      insert into gateway.note (record, reason) values (%1$L, %6$L);
    end;
  end;
  if new_key operator(pg_catalog.<>) '' then
    insert into gateway.note (record, source, key) values (%1$L, %2$L, new_key);
  end if;
  if old_key operator(pg_catalog.<>) '' and old_key operator(pg_catalog.<>) new_key then
    insert into gateway.note (record, source, key) values (%1$L, %2$L, old_key);
  end if;$sql$,
      mapped.record, mapped.rule_source, mapped.new_key,
      replace(mapped.new_key, '(new.', '(old.'), 'select ' || mapped.any_key, mapped.reason,
      case when not mapped.shows_any then format(same_shown, mapped.new_shown, mapped.old_shown) end);
  end loop;

  -- A session that writes dates or numbers in its own way must note keys in the usual one.
  settings := (select E'\nset datestyle = ''ISO, YMD'' set timezone = ''UTC'' set intervalstyle = postgres set extra_float_digits = 1'
                      ' set bytea_output = hex'
               where exists (select from gateway.rule join pg_attribute on attrelid = captured and attname = any (columns)
                             join pg_type on pg_type.oid = atttypid
                             where source = table_name and (typcategory in ('A', 'C', 'D', 'R', 'T') or typname like 'float_' or typname = 'bytea')));
  execute format($functions$
create or replace function %1$s() returns trigger
language plpgsql security definer%6$s
as $body$
begin
  if tg_op operator(pg_catalog.=) 'UPDATE' then%2$s
  else%3$s
  end if;
  return null;
end $body$;

create or replace function %4$s() returns trigger
language plpgsql security definer%6$s
as $body$
declare
  new_key pg_catalog.text := '';
  old_key pg_catalog.text := '';
begin%5$s
  return null;
end $body$;

revoke execute on function %1$s, %4$s from public$functions$,
    statement_function, update_notes, insert_notes, row_function, row_notes, settings);

  -- What was written while a trigger was missing was not noted.
  insert into gateway.note (record, reason)
  select record, 'Capture was created again.' from gateway.rule where source = table_name;

  -- A partition inherits the triggers of rows. It has some of its own if it was captured before it became one.
  execute (select coalesce(string_agg(format('drop trigger %I on %s', tgname, tgrelid::regclass), '; '), '')
           from pg_partition_tree(captured) join pg_trigger on tgrelid = relid
           where relid <> captured and tgparentid = 0 and tgname like 'capture\_%' and tgname <> 'capture_truncated');
  execute (select string_agg(format($triggers$
create or replace trigger capture_truncated after truncate on %1$s
  for each statement execute function gateway.capture_truncated(%2$s);
alter table %1$s enable always trigger capture_truncated$triggers$,
             part, types), ';')
           from gateway.tables_of(captured) part);
  execute format($triggers$
create or replace trigger capture_row after insert or update or delete on %1$s for each row execute function %2$s();
alter table %1$s enable %3$s trigger capture_row$triggers$,
    captured, row_function, case when is_partitioned then 'always' else 'replica' end);
  update gateway.rule set is_captured = true where source = table_name;
  -- Ordinary sessions note all rows of a statement at once. Appliers fire no such triggers, and partitions inherit none.
  if not is_partitioned then
    execute format($triggers$
create or replace trigger capture_inserted after insert on %1$s referencing new table as changed
  for each statement execute function %2$s();
create or replace trigger capture_deleted after delete on %1$s referencing old table as changed
  for each statement execute function %2$s();
create or replace trigger capture_updated after update on %1$s referencing old table as former new table as changed
  for each statement execute function %2$s()$triggers$, captured, statement_function);
  end if;
end $procedure$;

-- Returns the tables whose triggers do not follow the rules yet. Each call of gateway.capture is a transaction, so that one table is
-- locked at a time.
create function gateway.sources_to_capture() returns setof regclass
language sql stable
begin atomic
  select to_regclass(source) from gateway.rule where not is_captured and to_regclass(source) is not null
  union
  select tgrelid::regclass from pg_trigger
  where tgname = 'capture_row' and tgparentid = 0
    and tgfoid in (select oid from pg_proc where pronamespace = 'gateway'::regnamespace)
    and gateway.name_of(tgrelid) not in (select source from gateway.rule);
end;
