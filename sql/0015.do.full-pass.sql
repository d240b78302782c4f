-- When copies cannot be brought up to date any more and have to be rebuilt: a full pass (docs/syncing.md).
--
-- A copy is brought up to date by what the lists and gateway.removal hold since the instant that its client resumes
-- from. Some events break that: a restore or a failover loses changes that clients have seen, a clock that steps back
-- gives stamps that lie behind what clients resume from, and a purge takes removals away. Each of them moves
-- removals_complete_since, and a client that resumes from before it is refused. All but the purge move the epoch, too.

create table gateway.sync_state (
  only_row                boolean primary key default true check (only_row),
  epoch                   bigint not null default extract(epoch from clock_timestamp())::bigint,
  copies_valid_since      timestamptz not null default '-infinity',
  removals_complete_since timestamptz not null default '-infinity',
  clock_reached           timestamptz not null default '-infinity',
  server_identity         text
);
comment on table gateway.sync_state is 'Exactly one row: what tells whether a copy can be brought up to date';
comment on column gateway.sync_state.epoch is 'Grows each time that all copies must be rebuilt; the second of that event in Unix time, so that a restored database does not repeat a number that clients have seen';
comment on column gateway.sync_state.copies_valid_since is 'Copies that were last brought up to date before this instant must be rebuilt';
comment on column gateway.sync_state.removals_complete_since is 'From this instant on, gateway.removal holds all removals that a copy needs';
comment on column gateway.sync_state.clock_reached is 'Where the clock of the database has been, as the service notes it each minute and when it stops';
comment on column gateway.sync_state.server_identity is 'Identifier of the cluster, timeline and oid of the database: another one after a restore or a failover. Null: the service has not looked yet';

-- Rows of gateway.removal may have been deleted before this migration, oldest first. Then the first one is missing.
insert into gateway.sync_state (removals_complete_since)
select case
    when pg_sequence_last_value(pg_get_serial_sequence('gateway.removal', 'id')::regclass) is null then '-infinity'
    when exists (select from gateway.removal where id = 1) then '-infinity'
    else coalesce((select min(updated_at) from gateway.removal), clock_timestamp())
  end;

grant select on gateway.sync_state to voucher_gateway;

-- Demands that clients rebuild their copies. By hand after what no check can notice, such as a restore from a snapshot of
-- the disk: select gateway.demand_full_pass();
--
-- A demand for an instant that an earlier one has covered changes nothing: several instances of the service that notice
-- the same event count once.
--
-- Returns the epoch. Without an instant: from now on. A page whose server_time lies after that instant must show the new
-- epoch, so the demand takes a write marker (sql/0004) first: until it is committed, each server_time lies before it.
create function gateway.demand_full_pass(complete_since timestamptz default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- First, because a purge may hold the row for long: a write marker that waits for it would hold back all lists.
  perform from gateway.sync_state for update;
  perform pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.committing(), gateway.clock_microseconds()));
  complete_since := coalesce(complete_since, clock_timestamp());
  update gateway.sync_state
  set epoch = greatest(sync_state.epoch + 1, extract(epoch from clock_timestamp())::bigint),
      copies_valid_since = complete_since,
      removals_complete_since = greatest(removals_complete_since, complete_since)
  where copies_valid_since < complete_since;
  return (select epoch from gateway.sync_state);
end $$;

-- Compares the server with the one that the service has seen before, and demands a full pass when it is another one.
-- Returns that former one then, and null otherwise. The first look only notes the server.
--
-- The identifier of the cluster differs in a new cluster, the timeline after a promotion or a recovery to a point in
-- time, and the oid in a database that was restored from a dump or copied.
create function gateway.notice_server() returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  found_now constant text := format('%s/%s/%s',
    (select system_identifier from pg_control_system()),
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
    (select oid from pg_database where datname = current_database()));
  former text;
begin
  if exists (select from gateway.sync_state where server_identity = found_now) then
    return null;
  end if;
  -- The lock makes instances that notice it at the same time count once: the later ones then see the new identity.
  select server_identity into former from gateway.sync_state for update;
  if former = found_now then
    return null;
  end if;
  update gateway.sync_state set server_identity = found_now;
  if former is not null then
    -- After the latest demand in any case, because this is an event of its own.
    perform gateway.demand_full_pass(greatest(clock_timestamp(), copies_valid_since + interval '1 microsecond'))
    from gateway.sync_state;
  end if;
  return former;
end $$;

-- Notes where the clock is, so that a step back is noticed after a restart, too. A purge of removals may hold the row
-- for long; then the next call notes it.
create function gateway.note_clock() returns void
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  update gateway.sync_state set clock_reached = clock_timestamp()
  where only_row in (select only_row from gateway.sync_state where clock_reached < clock_timestamp()
                     for update skip locked);
end;

-- The newest stamp of a list that lies ahead of the clock, or the instant that the clock had reached before. Null when
-- there is none: the clock has not stepped back.
--
-- One probe of an index per tenant and list: 50,000 tenants take 1 s. A record of a deleted tenant is in no list; of its
-- removals, that of the tenant itself bears the same stamp.
create function gateway.newest_stamp_ahead() returns timestamptz
language sql set search_path = pg_catalog, pg_temp
as $$
  -- Read after the snapshot was taken: each stamp that the snapshot shows is older.
  with clock as materialized (select clock_timestamp() as now)
  select max(stamp)
  from clock, lateral (
    select clock_reached as stamp from gateway.sync_state where clock_reached > clock.now
    union all
    select updated_at from public.tenant
    where updated_at > clock.now and not exists (select from gateway.planned_stamp where stamp = updated_at)
    union all
    select newest.stamp from public.tenant, lateral (
      (select coalesce(updated_at, '-infinity') as stamp from public.product
       where tenant_id = tenant.id and coalesce(updated_at, '-infinity') > clock.now
         and not exists (select from gateway.planned_stamp where stamp = updated_at)
       order by coalesce(updated_at, '-infinity') desc limit 1)
      union all
      (select updated_at from public.purchased_voucher
       where tenant_id = tenant.id and updated_at > clock.now
         and not exists (select from gateway.planned_stamp where stamp = updated_at)
       order by updated_at desc limit 1)
      union all
      (select updated_at from public.customer
       where tenant_id = tenant.id and marketing_opted and updated_at > clock.now
         and not exists (select from gateway.planned_stamp where stamp = updated_at)
       order by updated_at desc limit 1)
      union all
      (select updated_at from gateway.removal
       where tenant_id = tenant.id and updated_at > clock.now
         and not exists (select from gateway.planned_stamp where stamp = updated_at)
       order by updated_at desc limit 1)
    ) newest
  ) ahead
$$;

-- Every login may use the schema, because writers set off its triggers. These functions are for the service and the owner.
revoke execute on function gateway.demand_full_pass, gateway.notice_server, gateway.note_clock,
  gateway.newest_stamp_ahead from public;
grant execute on function gateway.demand_full_pass, gateway.notice_server, gateway.note_clock,
  gateway.newest_stamp_ahead to voucher_gateway;

-- `updatedSince` is inclusive: a client that resumes from the stamp of a purged removal would miss it.
create function gateway.note_purged_removals() returns trigger
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
      -- An older snapshot does not show all that is truncated.
      complete_since := greatest(complete_since, clock_timestamp());
    end if;
  end if;
  update gateway.sync_state set removals_complete_since = complete_since
  where removals_complete_since < complete_since;
  return null;
end $$;

create trigger note_purged after delete on gateway.removal
  referencing old table as purged for each statement execute function gateway.note_purged_removals();
create trigger note_truncated before truncate on gateway.removal
  for each statement execute function gateway.note_purged_removals();
alter table gateway.removal enable always trigger note_purged;
alter table gateway.removal enable always trigger note_truncated;
