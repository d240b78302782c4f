-- Truncates a staged table, and sets the key by which changes find their rows.
create or replace function gateway.empty_table(staged regclass, keys text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('truncate %s', staged);
  execute coalesce((
    select format('alter table %s drop constraint %I, %s', staged, conname, string_agg(format('alter %I drop not null', attname), ', '))
    from pg_constraint join pg_attribute on attrelid = conrelid and attnum = any(conkey)
    where conrelid = staged and contype = 'p' group by conname), '');
  execute format(case when keys = '{}' then 'alter table %s replica identity full' else 'alter table %s add primary key (%s)' end, staged,
                 (select string_agg(quote_ident(key), ', ' order by place) from unnest(keys) with ordinality as part (key, place)));
end $$;
