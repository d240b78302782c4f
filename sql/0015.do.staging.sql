-- Staging: copies of the tables of a platform on another server, which a subscription keeps in step. They have the names of the
-- platform's tables, because replication cannot rename, and mappings read them as they would read these.

-- The tables that a subscription fills.
create table gateway.staged_table (
  platform_oid oid primary key, -- At the platform.
  source       text not null unique, -- The name with the schema, as SQL.
  columns      jsonb not null -- Those of the platform that the table has: an array of gateway.platform_column.
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
  next_slot  text, -- That of a copy that goes on, or that was interrupted.
  server     text, -- The server that had the slot, with its timeline: another one after a failover.
  copied_at  timestamptz,
  needs_copy text, -- Why the tables are copied again; null: the subscription keeps them in step.
  -- What the last look at the platform found:
  seen_at    timestamptz,
  behind     bigint,   -- The bytes of its log that are not applied.
  log_left   real,     -- The share of max_slot_wal_keep_size that is left; null: the platform keeps all.
  problems   text[] not null default '{}' -- Sentences.
);
grant select on gateway.subscription to voucher_gateway;

-- Returns a type as SQL: text when this server has none of that name. What a platform says never becomes SQL as it is.
create function gateway.staged_type(named text) returns text
language sql stable
return format_type(coalesce(to_regtype(named), 'text'), -1);

-- Creates the table of a table of the platform.
--
-- definition: platform_oid, schema, name, columns, and key: the columns of its primary key or replica identity.
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
    select format('create table %s (%s)', source, concat_ws(', ',
      string_agg(format('%I %s', name, gateway.staged_type(type)), ', ' order by place),
      (select format('primary key (%s)', string_agg(quote_ident(key), ', ' order by place))
       from jsonb_array_elements_text(definition -> 'key') with ordinality as part (key, place) having count(*) > 0)))
    from jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns'));
  -- The platform's table is refused, with a remedy. The check of this one has nothing to add.
  if definition -> 'key' = '[]' then
    execute format('alter table %s replica identity full', source);
  end if;
  insert into gateway.staged_table values ((definition ->> 'platform_oid')::oid, source, definition -> 'columns');
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
-- Returns why the rows have to be copied again; null: they need not.
create function gateway.follow_table(definition jsonb, is_applied boolean) returns text
language plpgsql
as $$
declare
  source constant text := format('%I.%I', definition ->> 'schema', definition ->> 'name');
  staged gateway.staged_table;
  fresh record;
  reason text;
begin
  select * into strict staged from gateway.staged_table where platform_oid = (definition ->> 'platform_oid')::oid;
  if staged.columns = definition -> 'columns' and staged.source = source then
    return null;
  end if;
  if is_applied then
    if staged.source <> source then
      execute format('alter table %s rename to %I', staged.source, definition ->> 'name');
    end if;
    staged.source := source;
    for fresh in
      select former.name as former_name, former.type as former_type, new.*
      from jsonb_populate_recordset(null::gateway.platform_column, staged.columns) former
      left join jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns') new using (place)
      -- A name becomes free before another column has it.
      order by new.name is not null, place
    loop
      if fresh.name is null then
        execute format('alter table %s drop column %I', staged.source, fresh.former_name);
        continue;
      end if;
      if fresh.name <> fresh.former_name then
        execute format('alter table %s rename column %I to %I', staged.source, fresh.former_name, fresh.name);
      end if;
      if fresh.type <> fresh.former_type then
        execute format('alter table %1$s alter column %2$I type %3$s using %2$I::text::%3$s', staged.source, fresh.name,
                       gateway.staged_type(fresh.type));
        reason := format('%s.%s has another type.', staged.source, fresh.name);
      end if;
    end loop;
  end if;
  for fresh in
    select new.*
    from jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns') new
    left join jsonb_populate_recordset(null::gateway.platform_column, staged.columns) former using (place)
    where former.place is null order by place
  loop
    -- A column that was dropped and created again has the same name until all former changes are applied.
    execute format('alter table %s add column if not exists %I %s%s', staged.source, fresh.name, gateway.staged_type(fresh.type),
                   ' default ' || quote_literal(fresh.standard));
    if fresh.is_copied then
      reason := format('%s.%s is new, and older rows have different values.', staged.source, fresh.name);
    end if;
  end loop;
  update gateway.staged_table
  set source = staged.source,
      columns = case when is_applied then definition -> 'columns'
                     else staged.columns || (
                       select coalesce(jsonb_agg(new order by new -> 'place'), '[]') from jsonb_array_elements(definition -> 'columns') new
                       where new -> 'place' not in (select former -> 'place' from jsonb_array_elements(staged.columns) former)) end
  where platform_oid = staged.platform_oid;
  return reason;
end $$;

-- Makes a staged table equal to a copy with the same columns. Only rows that differ are written, so that steps evaluate these alone.
create procedure gateway.take_copy(staged regclass, copied regclass)
language plpgsql
as $$
declare
  keys text;
  same_keys text;
  assignments text;
begin
  select string_agg(quote_ident(attname), ', ') filter (where is_key),
         string_agg(format('copied.%1$I = staged.%1$I', attname), ' and ') filter (where is_key),
         string_agg(format('%1$I = excluded.%1$I', attname), ', ')
  into keys, same_keys, assignments
  from (select attname, exists (select from pg_index where indrelid = staged and indisprimary and attnum = any(indkey)) as is_key
        from pg_attribute where attrelid = staged and attnum > 0 and not attisdropped) one;
  execute format('delete from %s staged where not exists (select from %s copied where %s)', staged, copied, same_keys);
  execute format('insert into %1$s as staged select * from %2$s on conflict (%3$s) do update set %4$s where staged::text <> excluded::text',
                 staged, copied, keys, assignments);
end $$;
