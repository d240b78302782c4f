-- Installs mappings without rows for the types that a platform does not have.
--
-- others: the types that the platform has.
create or replace procedure gateway.install_no_mapping(others gateway.record_type[])
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  mapped gateway.record_type;
  columns text;
begin
  foreach mapped in array enum_range(null::gateway.record_type) loop
    continue when mapped = any(others);
    select string_agg(format('null::%s as %I', format_type(atttypid, atttypmod), case attname when 'id' then 'key' else attname end),
                      ', ')
    into columns
    from pg_attribute
    where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attnum > 0 and attname <> 'content';
    call gateway.install_mapping(mapped, format('select %s where false', columns), '{}');
  end loop;
end $$;
