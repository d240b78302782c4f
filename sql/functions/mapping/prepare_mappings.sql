-- Prepares all mappings again, after an upgrade has changed the preparation or the fields of types. A mapping that does
-- not fit the tables stays unchanged until it fits, and then a step prepares it (gateway.check_fitting).
--
-- compares: true to let steps compare all records.
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
      insert into gateway.broken_mapping (record, reason, is_unprepared) values (mapping.record, left(sqlerrm, 2000), true)
      on conflict (record) do update set is_unprepared = true;
    end;
  end loop;
end $$;
