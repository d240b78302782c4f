-- Prepares all mappings again: a later version prepares them otherwise, or types have other fields. One that does not fit the tables
-- stays as it is.
--
-- compares: whether steps compare all records.
create or replace procedure gateway.prepare_mappings(compares boolean)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  mapping gateway.mapping;
begin
  for mapping in select * from gateway.mapping loop
    begin
      call gateway.prepare_mapping(mapping.record, mapping.files ->> 'select', mapping.files -> 'rules', mapping.is_plain, mapping.files ->> 'path');
      perform gateway.request_scan(mapping.record, 'Its mapping was prepared again.') where compares;
    exception when syntax_error_or_access_rule_violation then
      insert into gateway.broken_mapping (record, reason) values (mapping.record, left(sqlerrm, 2000)) on conflict do nothing;
    end;
  end loop;
end $$;
