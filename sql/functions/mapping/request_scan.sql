-- Lets steps compare all records of a type. A scan that has stopped begins again; a scan that goes on begins again at its end, so that
-- requests without end do not keep it from its last key. A scan keeps the number of removed records and whether it may remove more:
-- else some requests would let it remove all of them. Without tenants no record is shown: a truncation removes no more of them either.
create or replace function gateway.request_scan(scanned gateway.record_type, why text, allows boolean default false) returns void
language sql
begin atomic
  insert into gateway.scan (record, reason, allows_removals) values (scanned, why, allows and scanned <> 'tenant')
  on conflict (record) do update
  set reason = excluded.reason, allows_removals = scan.allows_removals or excluded.allows_removals, stopped = null, failed_at = null,
      reached = case when scan.stopped is null then scan.reached end, again = scan.stopped is null and scan.reached is not null;
end;
