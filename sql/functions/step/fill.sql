-- Makes the next part of the first fill. The fill writes all records, then creates one index at a time, then writes the
-- figures and the heads of lists, and collects the statistics for plans.
--
-- latest: the last given stamp. Returns true at the end of the fill.
create or replace function gateway.fill(at_most integer, inout latest timestamptz, out is_done boolean)
language plpgsql set maintenance_work_mem = '256MB'
as $$
declare
  has_figures constant boolean := to_regclass('gateway.figure_rollup_key') is not null;
  part constant integer := at_most * 5; -- A step of the fill may take longer, because no change waits for it.
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
    -- The planner overestimates an empty table until it is analysed. A table that a vacuum has locked is skipped,
    -- because the vacuum analyses it.
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
