-- Returns the changes that a mapping with valid columns would make to the records of a type: the number of records that
-- would appear, leave or differ, with the first records of each kind. Without a view, all records leave. Rows that
-- break a rule are not counted.
create or replace function gateway.find_changes(mapped gateway.record_type)
returns table (change text, records bigint, first_key text, columns text[])
language plpgsql set jit = off set search_path = pg_catalog, pg_temp
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  source constant text := (
    select format('select row(%s)::gateway.%I as fresh, mapping.key
                   from gateway.read_as_reader(%L, null) as mapping (key text, %s), (values (null::boolean)) one (assigns)',
                  fields, mapped || '_fields', format('select key::text, %s, %s from %s', read_fields, read_more, view), shape)
    from gateway.mapped_row(mapped, view) where view is not null);
begin
  return query execute format($changes$
    with source as materialized (%2$s), compared as (
      select fresh, stale, stale.id, key, case when stale.id is null then 'appear' when (fresh).id is null then 'leave' else 'differ' end as change
      from source full join gateway.%1$s stale on stale.id = (fresh).id
      where fresh is distinct from stale::gateway.%1$s_fields and (fresh is null or gateway.error_of(fresh) is null)
    )
    select change, records, coalesce(key, (gateway.keys_of('%1$s', array[id]))[1]), array(
      select name from jsonb_each(to_jsonb(fresh)) fresh_column (name, value)
      join jsonb_each(to_jsonb(stale)) stale_column (name, stale_value) using (name) where value <> stale_value)
    from (select *, count(*) over (partition by change) as records, row_number() over (partition by change order by key, id) as place
          from compared) numbered
    where place = 1 order by change$changes$,
    mapped, coalesce(source, format('select null::gateway.%I as fresh, null::text as key where false', mapped || '_fields')));
end $$;
