-- Makes one step. In its transaction, only `lock table gateway.step_lock` may run before this function.
--
-- at_most: the maximum number of keys from notes, waiting keys and a scan together.
-- more: true when another step can begin immediately; null when there was no key to evaluate.
-- keys: the number of keys that it took; null in the first fill.
create or replace function gateway.make_step(at_most integer, out more boolean, out keys integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp set row_security = off
  set jit = off set work_mem = '64MB' set enable_seqscan = off set lock_timeout = '100ms'
as $$
declare
  present_epoch constant bigint := (select epoch from gateway.sync_state);
  former gateway.step;
  latest timestamptz;
  filled record;
  failures constant integer := coalesce((select times from gateway.step_failure), 0);
  taken record;
  all_keys gateway.record_key[];
  since timestamptz;
  waits boolean;
begin
  if current_setting('transaction_isolation') <> 'repeatable read' then
    raise exception 'a step needs one snapshot: REPEATABLE READ' using errcode = 'active_sql_transaction';
  end if;
  select * into former from gateway.step order by stamp desc limit 1;
  if former.epoch is distinct from present_epoch then
    -- The notes may have ids of another server's transactions. Scans, or the first fill, read all rows instead.
    delete from gateway.note;
    delete from gateway.large_transaction;
    perform gateway.request_scan(record, 'The server was replaced.') from gateway.mapping where former.stamp is not null;
    former.snapshot := pg_current_snapshot();
    former.stamp := coalesce(former.stamp, '-infinity');
    former.waited := coalesce(former.waited, 0);
    former.epoch := coalesce(former.epoch, present_epoch);
    former.is_complete := coalesce(former.is_complete, false);
  end if;
  perform gateway.check_fitting(array(select record from gateway.broken_mapping));
  since := coalesce(former.behind_since, nullif(former.stamp, '-infinity'));
  if gateway.make_quiet_step() then
    return;
  end if;
  -- The message arrived before the snapshot (I4).
  latest := greatest(statement_timestamp(), former.stamp);
  if not former.is_complete then
    select * into filled from gateway.fill(at_most, latest);
    latest := filled.latest;
    if not filled.is_done then
      insert into gateway.step (stamp, snapshot, waited, epoch, is_complete, behind_since)
      values (latest + interval '1 microsecond', former.snapshot, former.waited, present_epoch, false, since);
      more := exists (select from gateway.open_scan)
        or not exists (select from gateway.scan) and not exists (select from gateway.broken_mapping);
      return;
    end if;
  end if;
  -- After a failure, the step is repeated with an eighth of the keys.
  at_most := greatest(1, at_most >> least(3 * failures, 30));
  -- After the fill, this takes the notes since the first step of the fill. A part of the keys is reserved for a scan,
  -- even if changes never stop. Without new notes, a step takes more waiting keys.
  taken := gateway.take_noted(former.snapshot, case
    when exists (select from gateway.open_scan) then ceil(at_most * 0.75)::integer
    when failures = 0 and not exists (select from gateway.note where xid >= pg_snapshot_xmax(former.snapshot))
      and not exists (select from gateway.note where xid = any(array(select pg_snapshot_xip(former.snapshot)))) then at_most * 5
    else at_most end, former.waited);
  all_keys := taken.keys || array(select scanned from gateway.take_scanned(at_most - cardinality(taken.keys)) scanned);
  if former.is_complete then -- Each key uses a few stamps.
    latest := greatest(former.stamp, latest - 4 * cardinality(all_keys) * interval '1 microsecond');
  end if;
  begin
    latest := gateway.write_records(all_keys, taken.fresh, latest, at_most, true, clock_timestamp() + interval '250 milliseconds')
      + interval '1 microsecond';
  exception
    when transaction_rollback or disk_full or operator_intervention or lock_not_available then
      raise;
    when others then
      if cardinality(all_keys) <> 1 or at_most > 1 or failures < 4 then
        raise;
      end if;
      insert into gateway.rejected (record, key, reason)
      select record, gateway.short_key(key), left(sqlerrm, 2000) from unnest(all_keys)
      on conflict (record, key) do update set reason = excluded.reason, tenant_id = null;
  end;
  if failures > 0 then
    delete from gateway.step_failure where times = 1;
    update gateway.step_failure set times = times - 1;
  end if;
  waits := exists (select from gateway.open_scan) or exists (select from gateway.waiting_key where place > taken.waited)
           or exists (select from gateway.waiting_row) or exists (select from gateway.large_transaction)
           or exists (select from gateway.note where xid = pg_current_xact_id_if_assigned() and source is null);
  insert into gateway.step (stamp, snapshot, waited, epoch, is_complete, behind_since)
  -- The fill is complete even if keys wait, because later steps take waiting keys.
  values (latest, pg_current_snapshot(), taken.waited, present_epoch,
          former.is_complete or not exists (select from gateway.scan) and not exists (select from gateway.broken_mapping),
          -- Rows whose rule reads a locked table were noted again, and wait.
          case when waits or exists (select from gateway.scan) or exists (select from gateway.broken_mapping)
                 or exists (select from gateway.notes_after(pg_current_snapshot())) then since end);
  keys := cardinality(all_keys);
  more := nullif(waits, case when keys = 0 then false end);
end $$;
grant execute on function gateway.make_step to voucher_gateway;
