-- Compares the server with the recorded server, and requires a full pass when they differ. A promotion, or a recovery
-- to a point in time, begins a new timeline. A database that was copied, or restored from a dump, has a new oid. Each
-- new connection of the service calls this function before its first statement. The first call only records the server.
create or replace function gateway.detect_server_change() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  present constant text := format('%s/%s/%s',
    (select system_identifier from pg_control_system()),
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
    (select oid from pg_database where datname = current_database()));
  former text;
begin
  if exists (select from gateway.sync_state where server_identity = present) then
    return;
  end if;
  -- When several instances detect a change at the same time, the first one records it. The other instances wait for the
  -- lock, then read the new identity.
  select server_identity into former from gateway.sync_state for update;
  if former = present then
    return;
  end if;
  update gateway.sync_state set server_identity = present, former_server = former;
  if former is not null then
    perform gateway.require_full_pass();
  end if;
end $$;
grant execute on function gateway.detect_server_change to voucher_gateway;
