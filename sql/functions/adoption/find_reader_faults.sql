-- Finds the relations of a view that voucher_gateway_reader, which evaluates mappings, may not read.
create or replace function gateway.find_reader_faults(view regclass) returns setof gateway.finding
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select 'error', format('It reads %s, which voucher_gateway_reader may not read, and %I may not let it', named, current_user),
         format('Let its owner run: grant usage on schema %s to voucher_gateway_reader; grant select on %s to voucher_gateway_reader;',
                relnamespace::regnamespace, named), null::jsonb
  from gateway.view_reference join pg_class on pg_class.oid = refobjid cross join gateway.name_of(pg_class.oid) named
  where reader = view and refclassid = 'pg_class'::regclass and relpersistence <> 't'
    and not (
      (has_table_privilege('voucher_gateway_reader', pg_class.oid, 'select')
        or has_table_privilege(pg_class.oid, 'select with grant option'))
      and (has_schema_privilege('voucher_gateway_reader', relnamespace, 'usage')
        or has_schema_privilege(relnamespace, 'usage with grant option')))
  group by relnamespace, named
$$;
