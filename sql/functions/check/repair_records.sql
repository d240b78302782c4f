-- Notes the keys of all records that differ, and of all rejected rows. Returns the records that differ. When more than
-- a thousand records of a type have no row in the source, a scan by steps compares the whole type: a scan stops before
-- it removes too many records.
create or replace function gateway.repair_records() returns setof gateway.record_difference
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  differing constant gateway.record_difference[] := array(select difference from gateway.record_differences() difference);
  scanned constant gateway.record_type[] := array(
    select record from unnest(differing) where key is null or reason = 'The source has no row.'
    group by record having count(*) > 1000 or bool_or(key is null));
begin
  perform gateway.request_scan(record, 'Its records are repaired.') from unnest(scanned) record;
  insert into gateway.note (record, key)
  select record, key
  from (select record, key from gateway.rejected union all select record, key from unnest(differing)) key
  where record <> all(scanned);
  return query select * from unnest(differing);
end $$;
grant execute on function gateway.repair_records to voucher_gateway;
