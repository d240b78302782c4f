-- Removes the schema with its triggers, and the extensions that the gateway created, unless the platform uses them.
create or replace procedure gateway.remove()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  created constant text[] := array(
    select extname from pg_extension where obj_description(oid, 'pg_extension') = 'Created by the gateway');
  extension text;
begin
  delete from gateway.mapping;
  call gateway.grant_sources();
  drop schema gateway cascade;
  foreach extension in array created loop
    begin
      execute format('drop extension %I', extension);
    exception
      when dependent_objects_still_exist then null;
    end;
  end loop;
end $$;
