-- Returns the tables whose triggers do not match the present rules. The caller runs gateway.capture for each in its own
-- transaction, so that one table is locked at a time.
create or replace function gateway.sources_to_capture() returns setof regclass
language sql stable
begin atomic
  select to_regclass(source) from gateway.rule where not is_captured and to_regclass(source) is not null
  union
  select tgrelid::regclass from pg_trigger
  where tgname = 'capture_row' and tgparentid = 0
    and tgfoid in (select oid from pg_proc where pronamespace = 'gateway'::regnamespace)
    and gateway.name_of(tgrelid) not in (select source from gateway.rule);
end;
