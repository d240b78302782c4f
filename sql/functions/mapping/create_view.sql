-- Creates a temporary view of a query of a mapping. Its tables are read with the rights of its owner, its functions run as the reader.
-- To parse it needs rights on schemas: its caller takes back the rights that are not needed, or rolls back.
create or replace procedure gateway.create_view(name text, query text, path text)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  execute (
    select coalesce(string_agg(format('grant usage on schema %s to voucher_gateway_reader', oid::regnamespace), '; '), '')
    from pg_namespace
    where has_schema_privilege(oid, 'usage with grant option') and not has_schema_privilege('voucher_gateway_reader', oid, 'usage')
      and nspname !~ '^pg_');
  execute format('create temporary view %1$I as %2$s; grant select on pg_temp.%1$I to voucher_gateway_reader',
                 name, gateway.parsed_query(query, path));
end $$;
