-- The state that tells clients when a copy cannot be brought up to date any more and needs a full pass: all lists are
-- read again (docs/syncing.md).
--
-- A restore or a failover loses changes that clients have seen, and a purge deletes removals. Both move
-- removals_complete_since, and a client that resumes from before that instant gets an error. The former also increase the
-- epoch, and let steps compare all records (0008).

create table gateway.sync_state (
  only_row                boolean primary key default true check (only_row),
  epoch                   bigint not null default extract(epoch from clock_timestamp())::bigint,
  removals_complete_since timestamptz not null default '-infinity',
  server_identity         text,
  former_server           text
);
comment on table gateway.sync_state is 'Exactly one row: decides whether a copy can be brought up to date';
comment on column gateway.sync_state.epoch is 'Grows each time that all copies have to be rebuilt; the second of that event in Unix time, so that a restored database does not repeat a number that clients have seen';
comment on column gateway.sync_state.removals_complete_since is 'From this instant on, gateway.removal holds all removals that a copy needs';
comment on column gateway.sync_state.server_identity is 'Identifier of the cluster, timeline and oid of the database: these change with a restore or a failover. Null: the service has not recorded them yet';
comment on column gateway.sync_state.former_server is 'The server before the present one, until an instance of the service has reported the change; else null';
insert into gateway.sync_state default values;
grant select on gateway.sync_state to voucher_gateway;

-- Requires a full pass of all clients. An operator calls it after an event that no check can detect. Returns the epoch.
create function gateway.require_full_pass(out epoch bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  complete_since timestamptz;
begin
  perform from gateway.sync_state for update;
  -- A step that changes nothing: pages before the commit have earlier stamps, and pages after it have this one or later ones.
  lock table gateway.step_lock in exclusive mode;
  complete_since := gateway.repeat_step();
  update gateway.sync_state
  set epoch = greatest(sync_state.epoch + 1, extract(epoch from clock_timestamp())::bigint),
      removals_complete_since = greatest(removals_complete_since, complete_since)
  returning sync_state.epoch into epoch;
end $$;

-- Fails unless the statement that calls it shows a step, and no later epoch. So a statement on a standby that is late, or that
-- has the records of a server which was replaced, returns nothing.
create function gateway.require_step(wanted_epoch bigint, wanted_stamp timestamptz) returns boolean
language plpgsql stable parallel safe
as $$
begin
  if (select epoch from gateway.sync_state) = wanted_epoch
    and (select stamp from gateway.step order by stamp desc limit 1) >= wanted_stamp then
    return true;
  end if;
  raise exception 'the server does not show the step %', wanted_stamp using errcode = 'serialization_failure';
end $$;

-- Compares the server with the recorded one, and requires a full pass when they differ. A promotion, or a recovery to a point
-- in time, begins another timeline. A database that was copied, or restored from a dump, has another oid.
-- Each new connection of the service calls it before its first statement. The first call only records the server.
create function gateway.detect_server_change() returns void
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
  -- When several instances detect it at the same time, the first one counts: the others wait for the lock and then read
  -- the new identity.
  select server_identity into former from gateway.sync_state for update;
  if former = present then
    return;
  end if;
  update gateway.sync_state set server_identity = present, former_server = former;
  if former is not null then
    perform gateway.require_full_pass();
  end if;
end $$;

-- Returns the identity of the former server, once after a change; else null.
create function gateway.report_server_change() returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  former text;
begin
  perform gateway.detect_server_change();
  update gateway.sync_state set former_server = null
  from (select former_server from gateway.sync_state where former_server is not null for update) changed
  returning changed.former_server into former;
  return former;
end $$;

-- Moves removals_complete_since behind the newest removal that a purge deletes: `updatedSince` is inclusive, so a client
-- that resumes from exactly that stamp would miss the removal. Locks the row of gateway.sync_state until the purge ends.
create function gateway.record_purge() returns trigger
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

create trigger record_purge after delete on gateway.removal
  referencing old table as purged for each statement execute function gateway.record_purge();
create trigger record_truncation before truncate on gateway.removal
  for each statement execute function gateway.record_purge();
alter table gateway.removal enable always trigger record_purge, enable always trigger record_truncation;
