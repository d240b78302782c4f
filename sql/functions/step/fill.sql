-- Goes on with the first fill: writes all records, then creates one index at a time, then writes the figures and
-- the heads of lists, and collects the statistics that plans need.
--
-- latest: the last stamp that was given.
-- Returns whether all of it is done.
create or replace function gateway.fill(at_most integer, inout latest timestamptz, out is_done boolean)
language plpgsql set maintenance_work_mem = '256MB'
as $$
declare
  has_figures constant boolean := to_regclass('gateway.figure_rollup_key') is not null;
  part constant integer := at_most * 5; -- No change waits for a step of the fill.
  scanned constant gateway.record_key[] := array(select scanned from gateway.take_scanned(part) scanned);
  command text;
begin
  is_done := false;
  if cardinality(scanned) > 0 then
    latest := gateway.write_records(scanned, 0, latest, part, has_figures);
    return;
  end if;
  if exists (select from gateway.scan) or exists (select from gateway.broken_mapping) then
    return;
  end if;
  select definition into command from gateway.record_indexes() where to_regclass('gateway.' || name) is null limit 1;
  if command is not null then
    execute command;
  elsif not has_figures then
    latest := (gateway.write_tenant_paths(array(select id from gateway.tenant), latest)).latest;
    perform gateway.write_first_figures();
    perform gateway.write_heads(array(select change from gateway.last_changes() change));
    -- The planner takes an empty table for a larger one, but not after it was analysed. One that a vacuum has locked is left to it.
    for command in
      select format('analyze (skip_locked) gateway.%I', name)
      from unnest(enum_range(null::gateway.record_type)::text[] || '{tenant_path,voucher_entry,figure_member,figure_rollup,list_head}') name
      where pg_relation_size('gateway.' || name) > 0
    loop
      execute command;
    end loop;
  else
    is_done := true;
  end if;
end $$;
