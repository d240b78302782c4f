-- Staging: copies of the tables of a platform on another server, which a subscription keeps in step. They have the names of the
-- platform's tables, because replication cannot rename, and mappings read them as they would read these.

-- The tables that a subscription fills.
create table gateway.staged_table (
  platform_oid oid primary key, -- At the platform.
  source       text not null unique, -- The name with the schema, as SQL.
  columns      jsonb not null, -- Those of the platform that the table has: an array of gateway.platform_column.
  -- By names: the places of its `key`, its `generated` columns, the files of its `partitions`, and by oids the values of its enums.
  -- When one of these goes or changes, the log has no rows. And its `file`, with the transactions that wrote its `columns`.
  marks        jsonb not null
);

-- A column of a table of the platform.
create type gateway.platform_column as (
  place     smallint, -- Its number: it keeps it when it is renamed.
  name      text,
  type      text, -- The base type of a domain, and text for types that only the platform's database has.
  standard  text, -- The value of rows that are older than the column, if it is one and the same.
  is_copied boolean -- Rows that are older than the column may have different values, which are copied.
);

-- The subscription to a platform on another server: one row, or none.
create table gateway.subscription (
  is_only    boolean primary key default true check (is_only),
  slot       text, -- Its slot at the platform; null before the first copy is complete.
  other_slot text, -- One to drop: of the former subscription, or of a copy that was interrupted. Or of a copy that goes on.
  server     text, -- The server that had the slot, with its timeline: another one after a failover.
  copied_at  timestamptz,
  needs_copy text, -- Why the tables are copied again; null: the subscription keeps them in step.
  -- What the last look at the platform found:
  seen_at    timestamptz,
  behind     bigint,   -- The bytes of its log that are not applied.
  log_left   real,     -- The share of max_slot_wal_keep_size that is left; null: the platform keeps all.
  reasons    jsonb not null default '[]' -- Of src/reasons.ts.
);
grant select on gateway.subscription to voucher_gateway;

-- Returns a type as SQL: text when this server has none of that name. What a platform says never becomes SQL as it is.
create function gateway.staged_type(named text) returns text
language sql stable
return format_type(coalesce(to_regtype(named), 'text'), -1);

-- Truncates a staged table, and gives it the key by which changes find their rows.
create function gateway.empty_table(staged regclass, keys text[]) returns void
language plpgsql
as $$
begin
  execute format('truncate %s', staged);
  execute coalesce((
    select format('alter table %s drop constraint %I, %s', staged, conname, string_agg(format('alter %I drop not null', attname), ', '))
    from pg_constraint join pg_attribute on attrelid = conrelid and attnum = any(conkey)
    where conrelid = staged and contype = 'p' group by conname), '');
  execute format('alter table %s add primary key (%s)', staged,
                 (select string_agg(quote_ident(key), ', ' order by place) from unnest(keys) with ordinality as part (key, place)));
end $$;

-- Creates the table of a table of the platform.
--
-- definition: platform_oid, schema, name, columns, marks, and key: the columns of its primary key or replica identity.
create function gateway.stage_table(definition jsonb) returns void
language plpgsql
as $$
declare
  source constant text := format('%I.%I', definition ->> 'schema', definition ->> 'name');
begin
  if exists (select from gateway.staged_table where platform_oid = (definition ->> 'platform_oid')::oid) then
    return;
  end if;
  if to_regclass(source) is not null then
    raise exception 'The database of the gateway has a table % of its own.', source
      using hint = 'Let the gateway have a database without other tables.';
  end if;
  if to_regnamespace(quote_ident(definition ->> 'schema')) is null then
    execute format('create schema %I', definition ->> 'schema');
  end if;
  execute (
    select format('create table %s (%s)', source, string_agg(format('%I %s', name, gateway.staged_type(type)), ', ' order by place))
    from jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns'));
  -- The platform's table is refused, with a remedy. The check of this one has nothing to add.
  if definition -> 'key' = '[]' then
    execute format('alter table %s replica identity full', source);
  else
    perform gateway.empty_table(source::regclass, array(select jsonb_array_elements_text(definition -> 'key')));
  end if;
  insert into gateway.staged_table values ((definition ->> 'platform_oid')::oid, source, definition -> 'columns', definition -> 'marks');
end $$;

-- Creates an index of a staged table, if none begins with its columns.
create function gateway.index_table(staged regclass, columns text[]) returns void
language plpgsql
as $$
begin
  if not exists (
    select from pg_index
    where indrelid = staged and indisvalid and indpred is null and columns = array(
      select attname::text
      from unnest(indkey::smallint[]) with ordinality as part (number, place) join pg_attribute on attrelid = staged and attnum = number
      where place <= cardinality(columns) order by place)
  ) then
    execute (select format('create index on %s (%s)', staged, string_agg(quote_ident(name), ', ' order by place))
             from unnest(columns) with ordinality as part (name, place));
  end if;
end $$;

-- Follows the columns of a table of the platform. New ones are added at once, because the subscription waits for them. What was
-- renamed, retyped or dropped may still be in changes that were not applied: it follows when they are.
--
-- is_applied: whether the changes before this definition are applied.
-- Returns why the rows have to be copied again, and notes it in the same transaction; null: they need not.
create function gateway.follow_table(definition jsonb, is_applied boolean) returns text
language plpgsql
as $$
declare
  source constant text := format('%I.%I', definition ->> 'schema', definition ->> 'name');
  staged gateway.staged_table;
  moved regclass;
  fresh record;
  reason text;
begin
  select * into strict staged from gateway.staged_table where platform_oid = (definition ->> 'platform_oid')::oid;
  if staged.columns = definition -> 'columns' and staged.source = source and staged.marks = definition -> 'marks' then
    return null;
  end if;
  if not (staged.marks - '{file,columns}'::text[] <@ (definition -> 'marks'))
     -- New values of all rows write both. VACUUM FULL and TRUNCATE write a file alone, SET DEFAULT a column.
     or staged.marks -> 'file' <> definition #> '{marks,file}' and staged.marks -> 'columns' <> definition #> '{marks,columns}'
     or exists (select from jsonb_array_elements(definition -> 'attached') part
                where not coalesce(staged.marks -> 'partitions', '[]') @> part)
  then
    reason := format('The log lacks a change of %s: of its key, an enum, a partition or the values of a column.', source);
  end if;
  if is_applied then
    if staged.source <> source then
      moved := staged.source;
      execute format('create schema if not exists %I', definition ->> 'schema');
      execute format('alter table %s set schema %I', moved, definition ->> 'schema');
      if definition ->> 'name' <> (select relname from pg_class where oid = moved) then
        execute format('alter table %s rename to %I', moved, definition ->> 'name');
      end if;
    end if;
    staged.source := source;
    for fresh in
      select phase, new.*, former.type as former_type,
             case when phase = 1 or new.name = former.name then former.name else format('place %s', place) end as current_name
      from generate_series(1, 2) phase cross join jsonb_populate_recordset(null::gateway.platform_column, staged.columns) former
      left join jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns') new using (place)
      where phase = 1 or new.name is not null
      order by phase, place
    loop
      -- A column whose name another one had is not there yet.
      continue when not exists (
        select from pg_attribute where attrelid = source::regclass and attname = fresh.current_name and not attisdropped);
      if fresh.name is null then
        execute format('alter table %s drop column %I', source, fresh.current_name);
        continue;
      end if;
      -- All names become free in the first phase, before other columns have them in the second.
      if fresh.name <> fresh.current_name then
        execute format('alter table %s rename column %I to %I', source, fresh.current_name,
                       case fresh.phase when 1 then format('place %s', fresh.place) else fresh.name end);
      end if;
      if fresh.phase = 2 and fresh.type <> fresh.former_type then
        execute format('alter table %s alter column %I drop default', source, fresh.name);
        begin
          execute format('alter table %1$s alter column %2$I type %3$s using %2$I::text::%3$s', source, fresh.name,
                         gateway.staged_type(fresh.type));
        exception when others then -- The copy has the values.
          execute format('alter table %s alter column %I type %s using null', source, fresh.name, gateway.staged_type(fresh.type));
          reason := format('%s.%s has another type.', source, fresh.name);
        end;
      end if;
    end loop;
  end if;
  for fresh in
    select new.*, former.place is not null as is_late
    from jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns') new
    left join jsonb_populate_recordset(null::gateway.platform_column, staged.columns) former using (place)
    where (is_applied or former.place is null) and not exists (
      select from pg_attribute where attrelid = staged.source::regclass and attname = new.name and not attisdropped)
    order by place
  loop
    execute format('alter table %s add column %I %s%s', staged.source, fresh.name, gateway.staged_type(fresh.type),
                   ' default ' || quote_literal(fresh.standard));
    -- While a column that was dropped or renamed had the name, its values were written there.
    if fresh.is_copied or fresh.is_late then
      reason := format('%s.%s is new, and older rows have different values.', staged.source, fresh.name);
    end if;
  end loop;
  update gateway.staged_table
  set source = staged.source, marks = definition -> 'marks',
      columns = case when is_applied then definition -> 'columns'
                     else staged.columns || (
                       select coalesce(jsonb_agg(new order by new -> 'place'), '[]') from jsonb_array_elements(definition -> 'columns') new
                       where new -> 'place' not in (select former -> 'place' from jsonb_array_elements(staged.columns) former)) end
  where platform_oid = staged.platform_oid;
  update gateway.subscription set needs_copy = coalesce(needs_copy, reason) where reason is not null;
  return reason;
end $$;

-- Makes a staged table equal to a copy with the same columns. Only rows that differ are written, so that steps evaluate these alone.
--
-- key_columns: the key of the copy. With another one, the staged table is emptied first.
create procedure gateway.take_copy(staged regclass, copied regclass, key_columns text[])
language plpgsql
as $$
declare
  keys text;
  same_keys text;
  assignments text;
begin
  if not exists (select from pg_constraint where conrelid = staged and contype = 'p' and conkey = array(
                   select attnum from unnest(key_columns) with ordinality as part (key, place)
                   join pg_attribute on attrelid = staged and attname = key order by place)) then
    perform gateway.empty_table(staged, key_columns);
  end if;
  select string_agg(quote_ident(attname), ', ') filter (where attname = any(key_columns)),
         string_agg(format('copied.%1$I = staged.%1$I', attname), ' and ') filter (where attname = any(key_columns)),
         string_agg(format('%1$I = excluded.%1$I', attname), ', ')
  into keys, same_keys, assignments
  from pg_attribute where attrelid = staged and attnum > 0 and not attisdropped;
  execute format('delete from %s staged where not exists (select from %s copied where %s)', staged, copied, same_keys);
  execute format('insert into %1$s as staged select * from %2$s on conflict (%3$s) do update set %4$s where (staged.*)::text <> (excluded.*)::text',
                 staged, copied, keys, assignments);
end $$;
