-- Installs the mapping of a type, if it differs from the installed mapping, or if the installed mapping no longer fits
-- the tables. It calls gateway.prepare_mapping, and lets steps compare all records. The caller then captures the
-- sources (gateway.sources_to_capture).
create or replace procedure gateway.install_mapping(
  mapped gateway.record_type, query text, rules jsonb, is_plain boolean default false, path text default 'public')
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from gateway.mapping where record = mapped and files = jsonb_build_object('select', query, 'rules', rules, 'path', path))
    and (is_plain or not exists (select from gateway.broken_mapping where record = mapped))
  then
    return;
  end if;
  call gateway.prepare_mapping(mapped, query, rules, is_plain, path);
  delete from gateway.scan where record = mapped;
  perform gateway.request_scan(mapped, 'The mapping is new.');
end $$;
