-- Moves removals_complete_since after the newest removal that a purge deletes, because `updatedSince` is inclusive: a
-- client that resumes from exactly the stamp of this removal would miss it. Locks the row of gateway.sync_state until
-- the purge ends.
create or replace function gateway.record_purge() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'TRUNCATE' then
    perform gateway.require_full_pass();
    return null;
  end if;
  update gateway.sync_state set removals_complete_since = purge.complete_since
  from (select max(updated_at) + interval '1 microsecond' as complete_since from purged) purge
  where removals_complete_since < purge.complete_since;
  return null;
end $$;

create or replace trigger record_purge after delete on gateway.removal
  referencing old table as purged for each statement execute function gateway.record_purge();
alter table gateway.removal enable always trigger record_purge;
