-- Requires a full pass of all clients. An operator calls this function after an event that no check can detect. Returns
-- the epoch.
create or replace function gateway.require_full_pass(out epoch bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  complete_since timestamptz;
begin
  perform from gateway.sync_state for update;
  -- Adds a step that changes nothing, so that pages before the commit have earlier stamps, and pages after it have this
  -- stamp or a later stamp.
  lock table gateway.step_lock in exclusive mode;
  complete_since := gateway.repeat_step();
  update gateway.sync_state
  set epoch = greatest(sync_state.epoch + 1, extract(epoch from clock_timestamp())::bigint),
      removals_complete_since = greatest(removals_complete_since, complete_since)
  returning sync_state.epoch into epoch;
end $$;
