-- Lets a scan continue that gateway.take_scanned has stopped.
create or replace procedure gateway.allow_removals(stopped_record gateway.record_type)
language sql
begin atomic
  update gateway.scan set allows_removals = true, stopped = null, failed_at = null where record = stopped_record;
end;
