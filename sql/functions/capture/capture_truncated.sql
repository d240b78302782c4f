-- Notes all records of the types in its arguments, because a table was truncated.
create or replace function gateway.capture_truncated() returns trigger
language plpgsql security definer
as $$
begin
  insert into gateway.note (record, reason, truncated)
  select pg_catalog.unnest(tg_argv)::gateway.record_type, 'The table was truncated.', true;
  return null;
end $$;
