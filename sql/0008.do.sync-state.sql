-- The state that tells clients when a copy cannot be brought up to date any more and needs a full pass: all lists are
-- read again (docs/syncing.md).
--
-- A restore or a failover loses changes that clients have seen, a clock that steps back gives stamps that lie behind the
-- clients, and a purge deletes removals. Each of them moves removals_complete_since, and a client that resumes from before
-- that instant gets an error. All of them except the purge also increase the epoch.

create table gateway.sync_state (
  only_row                boolean primary key default true check (only_row),
  epoch                   bigint not null default extract(epoch from clock_timestamp())::bigint,
  copies_valid_since      timestamptz not null default '-infinity',
  removals_complete_since timestamptz not null default '-infinity',
  server_identity         text,
  former_server           text
);
comment on table gateway.sync_state is 'Exactly one row: decides whether a copy can be brought up to date';
comment on column gateway.sync_state.epoch is 'Grows each time that all copies have to be rebuilt; the second of that event in Unix time, so that a restored database does not repeat a number that clients have seen';
comment on column gateway.sync_state.copies_valid_since is 'Copies that were last brought up to date before this instant have to be rebuilt';
comment on column gateway.sync_state.removals_complete_since is 'From this instant on, gateway.removal holds all removals that a copy needs';
comment on column gateway.sync_state.server_identity is 'Identifier of the cluster, timeline and oid of the database: these change with a restore or a failover. Null: the service has not recorded them yet';
comment on column gateway.sync_state.former_server is 'The server before the present one, until an instance of the service has reported the change; else null';
insert into gateway.sync_state default values;
grant select on gateway.sync_state to voucher_gateway;

-- Requires a full pass of all clients. An operator calls it after an event that no check can detect.
--
-- complete_since: from when on a client may resume; null for now. An instant that an earlier call covers changes nothing,
-- so several instances of the service that detect one event count once.
-- Returns the epoch.
--
-- Locks the row of gateway.sync_state, and then takes a committing marker (0003): a page whose server_time lies after the
-- instant has to show the new epoch, and until the commit each server_time lies before it.
create function gateway.require_full_pass(complete_since timestamptz default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- The row first: a purge may hold it for long, and a marker that waits for it would hold the watermark.
  perform from gateway.sync_state for update;
  perform pg_advisory_xact_lock_shared(
    gateway.write_marker_key(gateway.committing_marker(), gateway.clock_microseconds()));
  complete_since := coalesce(complete_since, clock_timestamp());
  update gateway.sync_state
  set epoch = greatest(sync_state.epoch + 1, extract(epoch from clock_timestamp())::bigint),
      copies_valid_since = complete_since,
      removals_complete_since = greatest(removals_complete_since, complete_since)
  where copies_valid_since < complete_since;
  return (select epoch from gateway.sync_state);
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
    -- Always later than the latest full pass, because this is a new event.
    perform gateway.require_full_pass(greatest(clock_timestamp(), copies_valid_since + interval '1 microsecond'))
    from gateway.sync_state;
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
  if exists (select from gateway.sync_state where former_server is not null) then
    select former_server into former from gateway.sync_state for update;
    update gateway.sync_state set former_server = null;
  end if;
  return former;
end $$;

-- Reads the clock, to detect that it stepped back (0003).
--
-- clock: the clock.
-- published_before: no watermark that was returned so far is later than this instant. step_before: the same for the
-- watermarks before a step back that has not led to a full pass yet; null without one.
create function gateway.read_clock(out clock timestamptz, out published_before timestamptz, out step_before timestamptz)
language plpgsql
as $$
begin
  published_before := gateway.from_microseconds(
    pg_sequence_last_value('gateway.recorded_clock') + gateway.recording_allowance());
  clock := gateway.from_microseconds(gateway.checked_clock());
  select step into step_before
  from gateway.from_microseconds(
         nullif(pg_sequence_last_value('gateway.clock_step'), 0) + gateway.recording_allowance()) as step,
       gateway.sync_state
  where step > copies_valid_since;
end $$;

-- Returns the newest stamp of a list that lies ahead of the clock, as after a step back. Planned stamps do not count.
--
-- It probes an index once for each tenant and list: 50,000 tenants take 0.4 s. A record of a deleted tenant is in no list; of
-- the removals of such a tenant, its own one has the same stamp.
create function gateway.newest_stamp_ahead() returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  probes constant text := string_agg(format(
    $probe$(select %2$s as stamp from %1$s
            where tenant_id = tenant.id and %2$s > clock.now and %3$s
              and not exists (select from gateway.planned_stamp where stamp = %2$s)
            order by %2$s desc limit 1)$probe$, source, stamp, condition), ' union all ')
    from (select 'gateway.removal' as source, 'updated_at' as stamp, format('resource = %L', resource) as condition
          from (select resource from gateway.list union all values ('tenant'), ('customer')) removals (resource)
          union all select format('public.%I', name), stamp, coalesce(condition, 'true') from gateway.list) lists;
  newest timestamptz;
begin
  -- The clock is read after the snapshot is taken: each stamp that the snapshot shows is older.
  execute format($ahead$
    with clock as materialized (select clock_timestamp() as now)
    select max(stamp)
    from clock, lateral (
      select updated_at as stamp from public.tenant
      where updated_at > clock.now and not exists (select from gateway.planned_stamp where stamp = updated_at)
      union all
      select newest.stamp from public.tenant, lateral (%s) newest
    ) ahead$ahead$, probes) into newest;
  return newest;
end $$;

-- Every login may use the schema, so these functions are taken from public: they are for the service and the owner.
revoke execute on function gateway.require_full_pass, gateway.detect_server_change, gateway.report_server_change,
  gateway.newest_stamp_ahead from public;
grant execute on function gateway.require_full_pass, gateway.detect_server_change, gateway.report_server_change,
  gateway.newest_stamp_ahead to voucher_gateway;

-- The transactions that require a fill of the follower (0017): those that kept stamps (0004), and those that deleted removals
-- which it had not read.
create table gateway.fill_request (
  transaction xid8 primary key default pg_current_xact_id()
);
grant select on gateway.fill_request to voucher_gateway;

create function gateway.request_fill() returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$ insert into gateway.fill_request default values on conflict do nothing $$;

-- Moves removals_complete_since behind the newest removal that a purge deletes: `updatedSince` is inclusive, so a client
-- that resumes from exactly that stamp would miss the removal. Locks the row of gateway.sync_state until the purge ends.
create function gateway.record_purge() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  complete_since timestamptz;
begin
  if tg_op = 'DELETE' then
    select max(updated_at) + interval '1 microsecond' into complete_since from purged;
  else
    select max(updated_at) + interval '1 microsecond' into complete_since from gateway.removal;
    if current_setting('transaction_isolation') <> 'read committed' then
      -- An older snapshot does not show all rows that are truncated.
      complete_since := greatest(complete_since, clock_timestamp());
    end if;
  end if;
  update gateway.sync_state set removals_complete_since = complete_since
  where removals_complete_since < complete_since;
  perform gateway.request_fill() from gateway.follower where since < complete_since;
  return null;
end $$;

create trigger record_purge_on_delete after delete on gateway.removal
  referencing old table as purged for each statement execute function gateway.record_purge();
create trigger record_purge_on_truncate before truncate on gateway.removal
  for each statement execute function gateway.record_purge();
alter table gateway.removal
  enable always trigger record_purge_on_delete, enable always trigger record_purge_on_truncate;
