-- Creates the staged table for a table of the platform.
--
-- definition: platform_oid, schema, name, columns, marks, and key: the columns of its primary key or replica identity.
-- ignored: true for a table whose changes are only received, and not used. A table that differs from the definition is
-- created again.
create or replace function gateway.stage_table(definition jsonb, ignored boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  path constant text := format('%I.%I', definition ->> 'schema', definition ->> 'name');
  former text;
begin
  for former in
    delete from gateway.staged_table stub
    where is_ignored and platform_oid = (definition ->> 'platform_oid')::oid and not (
      ignored and (stub.source, columns, marks) = (path, definition -> 'columns', definition -> 'marks'))
    returning stub.source
  loop
    execute 'drop table ' || former;
  end loop;
  if exists (select from gateway.staged_table where platform_oid = (definition ->> 'platform_oid')::oid) then
    return;
  end if;
  if to_regclass(path) is not null then
    raise exception 'The database of the gateway has a table % of its own.', path
      using hint = 'Let the gateway have a database without other tables.';
  end if;
  if to_regnamespace(quote_ident(definition ->> 'schema')) is null then
    execute format('create schema %I', definition ->> 'schema');
  end if;
  execute (
    select format('create table %s (%s)', path, string_agg(format('%I %s', name, gateway.staged_type(type)), ', ' order by place))
    from jsonb_populate_recordset(null::gateway.platform_column, definition -> 'columns'));
  perform gateway.empty_table(path::regclass, array(select jsonb_array_elements_text(definition -> 'key')));
  insert into gateway.staged_table (platform_oid, source, columns, marks, is_ignored)
  values ((definition ->> 'platform_oid')::oid, path, definition -> 'columns', definition -> 'marks', ignored);
end $$;
