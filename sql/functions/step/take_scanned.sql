-- Returns the next keys of the scans, and lets the scans continue after these keys. Stops a scan instead if it would
-- remove too many records (gateway.most_removals), because the mapping or the source may be wrong, unless a source was
-- truncated or an operator allows the removals. Records whose keys were noted one by one do not count, except tenants.
create or replace function gateway.take_scanned(at_most integer) returns setof gateway.record_key
language plpgsql
as $$
declare
  open gateway.scan;
  part record;
  lost bigint;
  records bigint;
begin
  for open in select * from gateway.open_scan order by rounds, record loop
    exit when at_most < 1 or gateway.is_late();
    begin
      part := gateway.scan_keys(open.record, open.reached, at_most);
      call gateway.require_unchanged_sources(open.record);
    exception
      when syntax_error_or_access_rule_violation then
        insert into gateway.broken_mapping (record, reason) values (open.record, left(sqlerrm, 2000)) on conflict do nothing;
        continue;
      when lock_not_available then -- The next step repeats it.
        continue;
      when others then -- A row makes the select fail for all keys. Other types continue.
        if gateway.passes_by_itself(sqlstate) then
          raise;
        end if;
        update gateway.scan set stopped = gateway.without_values(sqlerrm), failed_at = clock_timestamp(), too_many = false
        where record = open.record;
        continue;
    end;
    lost := open.removed + part.lost;
    perform set_config('gateway.allows_removals', 'on', true) where open.record = 'tenant' and open.allows_removals;
    -- Stops counting when there are enough.
    execute format('select count(*) + $1 from (select from gateway.%I limit 10 * $2 + 10) one', open.record)
    into records using open.removed, lost;
    if part.lost > 0 and not open.allows_removals and lost > gateway.most_removals(open.record, records) then
      update gateway.scan
      set failed_at = clock_timestamp(), too_many = true, stopped = format(
        '%s of %s records have no row in the source. Correct the mapping or the rows, or: call gateway.allow_removals(%L);',
        lost, records, record)
      where record = open.record;
      continue;
    end if;
    if open.reached is null then -- Rejected keys may be missing in the source and in the records. No source has a key with this name.
      delete from gateway.rejected where record = open.record and key ~ '^.{100}… [0-9a-f]{32}$';
      insert into gateway.waiting_key (record, key) select record, key from gateway.rejected where record = open.record
      on conflict do nothing;
    end if;
    delete from gateway.scan where record = open.record and part.reached is null and not again;
    update gateway.scan
    set reached = part.reached, removed = removed + part.lost, stopped = null, failed_at = null,
        again = again and part.reached is not null, rounds = rounds + (part.reached is null)::integer
    where record = open.record;
    at_most := at_most - cardinality(part.keys);
    return query select open.record, key from unnest(part.keys) key;
  end loop;
end $$;
