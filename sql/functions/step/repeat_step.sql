-- Adds a step that writes no records, so that later answers have a later stamp. The caller must hold the lock of
-- gateway.step_lock.
create or replace function gateway.repeat_step() returns timestamptz
language sql
begin atomic
  insert into gateway.step (stamp, snapshot, waited, epoch, is_complete, behind_since)
  select stamp + interval '1 microsecond', snapshot, waited, epoch, is_complete, behind_since
  from gateway.step order by stamp desc limit 1
  returning stamp;
end;
