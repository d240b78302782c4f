-- If there are no changes, makes a step that only moves the last stamp, at most twice a second. Returns true when there
-- are no changes. The step needs only one message to the server: in READ COMMITTED, the insert takes its snapshot after
-- the lock (I1), and the message arrived before this snapshot (I4).
create or replace function gateway.make_quiet_step() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  due constant timestamptz := statement_timestamp() - interval '0.5 seconds';
  last constant timestamptz := (select stamp from gateway.quiet_step);
begin
  if last < due then
    lock table gateway.step_lock in exclusive mode nowait;
    insert into gateway.step (stamp, snapshot, waited, epoch, is_complete, behind_since)
    select statement_timestamp(), pg_current_snapshot(), waited, epoch, true, behind_since from gateway.quiet_step where stamp < due;
  end if;
  return last is not null;
end $$;
grant execute on function gateway.make_quiet_step to voucher_gateway;
