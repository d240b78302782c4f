-- Makes a staged table equal to a copy with the same columns. Writes only rows that differ, so that steps evaluate only
-- these.
--
-- key_columns: the key of the copy. If the staged table has another key, it is emptied first.
create or replace procedure gateway.take_copy(staged regclass, copied regclass, key_columns text[])
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  keys text;
  same_keys text;
  assignments text;
  all_columns text;
begin
  if coalesce((select conkey from pg_constraint where conrelid = staged and contype = 'p'), '{}') <> array(
       select attnum from unnest(key_columns) with ordinality as part (key, place)
       join pg_attribute on attrelid = staged and attname = key order by place) then
    perform gateway.empty_table(staged, key_columns);
  end if;
  select string_agg(quote_ident(attname), ', ') filter (where attname = any(key_columns)),
         string_agg(format('copied.%1$I = staged.%1$I', attname), ' and ') filter (where attname = any(key_columns)),
         string_agg(format('%1$I = excluded.%1$I', attname), ', '), string_agg(quote_ident(attname), ', ' order by attnum)
  into keys, same_keys, assignments, all_columns
  from pg_attribute where attrelid = staged and attnum > 0 and not attisdropped;
  if key_columns = '{}' then -- Without a key, equal rows are counted.
    execute format($sql$
      with had as (select ctid as place, row(%3$s)::text as whole, row_number() over (partition by row(%3$s)::text) as nth from %1$s one),
      wanted as (select ctid as place, row(%3$s)::text as whole, row_number() over (partition by row(%3$s)::text) as nth from %2$s one),
      deleted as (delete from %1$s where ctid in (
        select had.place from had left join wanted using (whole, nth) where wanted.place is null))
      insert into %1$s (%3$s) select %3$s from %2$s where ctid in (
        select wanted.place from wanted left join had using (whole, nth) where had.place is null)$sql$, staged, copied, all_columns);
    return;
  end if;
  execute format('delete from %s staged where not exists (select from %s copied where %s)', staged, copied, same_keys);
  execute format('insert into %1$s as staged (%5$s) select %5$s from %2$s on conflict (%3$s) do update set %4$s where (staged.*)::text <> (excluded.*)::text',
                 staged, copied, keys, assignments, all_columns);
end $$;
