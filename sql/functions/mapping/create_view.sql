-- Creates a temporary view of a query of a mapping. The view reads tables with the rights of its owner, and runs
-- functions as the reader. Parsing needs rights on schemas, so this function grants them: its caller revokes
-- unnecessary rights, or rolls back.
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
