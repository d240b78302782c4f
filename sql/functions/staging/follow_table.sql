-- Gives a staged table the columns of the platform's table. New columns are added immediately, because the subscription
-- waits for them. Columns are renamed, retyped or dropped later, because changes that are not yet applied may still
-- have the former columns.
--
-- is_applied: true when all changes before this definition are applied.
-- Returns the reason to copy the rows again, which it also records, or null.
create or replace function gateway.follow_table(definition jsonb, is_applied boolean) returns text
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  source constant text := format('%I.%I', definition ->> 'schema', definition ->> 'name');
  staged gateway.staged_table;
  moved regclass;
  fresh record;
  reason text;
  is_alone boolean;
begin
  select * into strict staged from gateway.staged_table where platform_oid = (definition ->> 'platform_oid')::oid;
  if staged.columns = definition -> 'columns' and staged.source = source and staged.marks = definition -> 'marks' then
    return null;
  end if;
  if not (staged.marks - '{file,columns}'::text[] <@ (definition -> 'marks'))
     -- A statement that changes the values of all rows changes both the file and a column. VACUUM FULL and TRUNCATE
     -- change only the file, SET DEFAULT only a column.
     or staged.marks -> 'file' <> definition #> '{marks,file}' and staged.marks -> 'columns' <> definition #> '{marks,columns}'
     or exists (select from jsonb_array_elements(definition -> 'attached') part
                where not coalesce(staged.marks -> 'partitions', '[]') @> part)
  then
    reason := format('The log lacks a change of %s: of its key, an enum, a partition or the values of a column.', source);
  end if;
  if is_applied then
    if staged.source <> source then
      moved := staged.source;
      if to_regnamespace(quote_ident(definition ->> 'schema')) is null then
        execute format('create schema %I', definition ->> 'schema');
      end if;
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
      -- A new column with the former name of another column is added later.
      continue when not exists (
        select from pg_attribute where attrelid = source::regclass and attname = fresh.current_name and not attisdropped);
      if fresh.name is null then
        execute format('alter table %s drop column %I', source, fresh.current_name);
        continue;
      end if;
      -- The first phase frees all names. The second phase gives them to other columns.
      if fresh.name <> fresh.current_name then
        execute format('alter table %s rename column %I to %I', source, fresh.current_name,
                       case fresh.phase when 1 then format('place %s', fresh.place) else fresh.name end);
      end if;
      if fresh.phase = 2 and fresh.type <> fresh.former_type then
        execute format('alter table %s alter column %I drop default', source, fresh.name);
        begin
          execute format('alter table %1$s alter column %2$I type %3$s using %2$I::text::%3$s', source, fresh.name,
                         gateway.staged_type(fresh.type));
        exception when others then -- The copy brings the values.
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
    -- Until now, the values of a dropped or renamed column were written to the column with this name.
    if fresh.is_copied or fresh.is_late then
      reason := format('%s.%s is new, and older rows have different values.', staged.source, fresh.name);
    end if;
  end loop;
  -- True when it suffices to copy this table again. The table must still have the columns of earlier changes, and only
  -- a superuser can let the subscription skip the changes that the copy includes.
  is_alone := (select rolsuper from pg_roles where rolname = current_user) and definition -> 'columns' @> (
    select jsonb_agg(jsonb_build_object('name', former -> 'name')) from jsonb_array_elements(staged.columns) former);
  update gateway.subscription set needs_copy = coalesce(needs_copy, reason) where reason is not null and not is_alone;
  update gateway.staged_table
  set source = staged.source, marks = definition -> 'marks', needs_copy = coalesce(staged.needs_copy, case when is_alone then reason end),
      columns = case when is_applied then definition -> 'columns'
                     else staged.columns || (
                       select coalesce(jsonb_agg(new order by new -> 'place'), '[]') from jsonb_array_elements(definition -> 'columns') new
                       where new -> 'place' not in (select former -> 'place' from jsonb_array_elements(staged.columns) former)) end
  where platform_oid = staged.platform_oid;
  return reason;
end $$;
