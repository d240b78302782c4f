-- Capture: triggers on the sources note which keys were written, and in which transaction. Nothing else happens in a writer's
-- transaction: a step (0008) reads the notes later.

-- Rows are only added, and deleted when no step needs them any more: a long transaction of others leaves no dead rows among
-- those that a step reads.
create table gateway.note (
  record    gateway.record_type not null,
  key       text, -- In the source; null: all records of this type.
  reason    text, -- Why all of them.
  truncated boolean, -- True: the source lost rows that no other note names. Null, which takes no bytes: it did not.
  xid       xid8 not null default pg_current_xact_id()
);
comment on table gateway.note is 'The keys of records that have to be evaluated, because a row of a source was written';
create index note_xid on gateway.note (xid);

-- The sources that are captured, each with the arguments of gateway.capture.
create table gateway.captured (
  source text primary key,
  keys   text[] not null
);

-- Notes all records of the types that it takes, because a table was truncated.
create function gateway.capture_truncated() returns trigger
language plpgsql security definer
as $$
begin
  insert into gateway.note (record, reason, truncated)
  select pg_catalog.unnest(tg_argv)::gateway.record_type, 'The table was truncated.', true;
  return null;
end $$;

-- Returns a source and its partitions, at all levels. A foreign one is left out: its rows are written on another server.
create function gateway.tables_of(source regclass) returns setof regclass
language sql stable
begin atomic
  select part from (select source union select relid from pg_partition_tree(source)) tree (part)
  where (select relkind from pg_class where oid = part) <> 'f';
end;

-- Creates the functions and the triggers that capture a source; again, if it is called again.
--
-- keys: for each type of record that shows rows of the source, the column with its key: 'product=product_id'.
--
-- The functions run with the rights of their owner, and read nothing that a caller can set: each name in them is qualified, also
-- of operators. So they need no `set search_path`, which takes a tenth of the time of a transaction of one row. concat() makes
-- texts of keys, because a cast may be a function of the owner of the column's type.
--
-- A write never fails because the platform has renamed, dropped or retyped a column: then all records are noted.
create procedure gateway.capture(source regclass, variadic keys text[])
language plpgsql
as $procedure$
declare
  table_name text;
  is_partitioned boolean;
  statement_function text;
  row_function text;
  mapped record;
  note_statement constant text := $sql$
    insert into gateway.note (record, key, reason)
    select %1$L, case when key operator(pg_catalog.<>) '*' then key end, case when key operator(pg_catalog.=) '*' then %2$L end
    from (select '*'::pg_catalog.text as %3$I) as missing,
         lateral (select pg_catalog.concat(%3$I) collate pg_catalog."C" as key from changed where %3$I is not null %4$s) as noted;$sql$;
  insert_notes text := '';
  update_notes text := '';
  row_notes text := '';
begin
  select format('%I.%I', nspname, relname), relkind = 'p',
         format('gateway.%I', concat_ws('_', 'capture_rows_of', nspname, relname)),
         format('gateway.%I', concat_ws('_', 'capture_row_of', nspname, relname))
  into table_name, is_partitioned, statement_function, row_function
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = source;

  for mapped in
    select parts[1] as type, parts[2] as key, format('%s has no column %s.', table_name, parts[2]) as reason
    from unnest(keys) as key, string_to_array(key, '=') as parts
  loop
    -- When the table has no such column any more, its name means the column of `missing`. An exception block costs a
    -- subtransaction.
    insert_notes := insert_notes || format(note_statement, mapped.type, mapped.reason, mapped.key, '');
    update_notes := update_notes || format(note_statement, mapped.type, mapped.reason, mapped.key, format(
      'union select pg_catalog.concat(%1$I) collate pg_catalog."C" from former where %1$I is not null', mapped.key));

    -- A field that is missing, or has another type than when the session first used it, is an error. The second block finds out.
    row_notes := row_notes || format($sql$
  begin
    if tg_op operator(pg_catalog.<>) 'DELETE' then new_key := pg_catalog.concat(new.%2$I); end if;
    if tg_op operator(pg_catalog.<>) 'INSERT' then old_key := pg_catalog.concat(old.%2$I); end if;
  exception when others then
    begin
      execute %4$L into new_key, old_key using new, old;
    exception when others then
      insert into gateway.note (record, reason) values (%1$L, %3$L);
    end;
  end;
  if new_key operator(pg_catalog.<>) '' then
    insert into gateway.note (record, key) values (%1$L, new_key);
  end if;
  if old_key operator(pg_catalog.<>) '' and old_key operator(pg_catalog.<>) new_key then
    insert into gateway.note (record, key) values (%1$L, old_key);
  end if;$sql$,
      mapped.type, mapped.key, mapped.reason,
      format('select pg_catalog.concat(($1).%1$I), pg_catalog.concat(($2).%1$I)', mapped.key));
  end loop;

  execute format($functions$
create or replace function %1$s() returns trigger
language plpgsql security definer
as $body$
begin
  if tg_op operator(pg_catalog.=) 'UPDATE' then%2$s
  else%3$s
  end if;
  return null;
end $body$;

create or replace function %4$s() returns trigger
language plpgsql security definer
as $body$
declare
  new_key pg_catalog.text := '';
  old_key pg_catalog.text := '';
begin%5$s
  return null;
end $body$;

revoke execute on function %1$s, %4$s from public$functions$,
    statement_function, update_notes, insert_notes, row_function, row_notes);

  -- What was written while a trigger was missing was not noted.
  insert into gateway.note (record, reason)
  select split_part(key, '=', 1)::gateway.record_type, 'Capture was created again.' from unnest(keys) key
  where exists (select from gateway.captured where captured.source = table_name);
  insert into gateway.captured values (table_name, keys)
  on conflict on constraint captured_pkey do update set keys = excluded.keys;

  -- A partition inherits the triggers of rows. It has some of its own if it was captured before it became one.
  execute (select coalesce(string_agg(format('drop trigger %I on %s', tgname, tgrelid::regclass), '; '), '')
           from pg_partition_tree(source) join pg_trigger on tgrelid = relid
           where relid <> source and tgparentid = 0 and tgname like 'capture\_%' and tgname <> 'capture_truncated');
  execute (select string_agg(format($triggers$
create or replace trigger capture_truncated after truncate on %1$s
  for each statement execute function gateway.capture_truncated(%2$s);
alter table %1$s enable always trigger capture_truncated$triggers$,
             part, (select string_agg(quote_literal(split_part(key, '=', 1)), ', ') from unnest(keys) key)), ';')
           from gateway.tables_of(source) part);
  execute format($triggers$
create or replace trigger capture_row after insert or update or delete on %1$s for each row execute function %2$s();
alter table %1$s enable %3$s trigger capture_row$triggers$,
    source, row_function, case when is_partitioned then 'always' else 'replica' end);
  -- Ordinary sessions note all rows of a statement at once. Appliers fire no such triggers, and partitions inherit none.
  if not is_partitioned then
    execute format($triggers$
create or replace trigger capture_inserted after insert on %1$s referencing new table as changed
  for each statement execute function %2$s();
create or replace trigger capture_deleted after delete on %1$s referencing old table as changed
  for each statement execute function %2$s();
create or replace trigger capture_updated after update on %1$s referencing old table as former new table as changed
  for each statement execute function %2$s()$triggers$, source, statement_function);
  end if;
end $procedure$;
