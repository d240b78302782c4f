-- Lets steps compare all records of a type. A stopped scan begins again immediately. A running scan begins again after
-- its end, so that it reaches its last key even if requests never stop. The scan keeps its count of removed records and
-- its permission to remove more, because otherwise several requests would let it remove all records. A truncation of
-- tenants gives no permission, because without tenants no record is shown.
create or replace function gateway.request_scan(scanned gateway.record_type, why text, allows boolean default false) returns void
language sql
begin atomic
  insert into gateway.scan (record, reason, allows_removals) values (scanned, why, allows and scanned <> 'tenant')
  on conflict (record) do update
  set reason = excluded.reason, allows_removals = scan.allows_removals or excluded.allows_removals, stopped = null, failed_at = null,
      reached = case when scan.stopped is null then scan.reached end, again = scan.stopped is null and scan.reached is not null;
end;
