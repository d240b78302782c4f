-- Returns the columns that a view reads, except columns of temporary relations. For columns of `changed` it returns the
-- columns of the source.
create or replace function gateway.columns_read_by(view regclass, source regclass default null)
returns table (schema_name text, table_name text, column_name text)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select distinct relnamespace::regnamespace::text, gateway.name_of(pg_class.oid), quote_ident(attname)
  from gateway.view_reference
  join pg_class on pg_class.oid = case when refobjid = to_regclass('pg_temp.changed') then source else refobjid end
  join pg_attribute on attrelid = refobjid and attnum = refobjsubid
  where reader = view and refclassid = 'pg_class'::regclass and relpersistence <> 't'
  order by 2, 3
$$;
