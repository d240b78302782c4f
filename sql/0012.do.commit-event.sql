-- What a transaction does at its commit (sql/0004), and what a bulk load can do instead.
--
-- gateway.commit_event says where the transaction stands:
--   wanted  a stamp was taken; the next row that is written to a list queues the event
--   queued  the event runs at commit, or earlier after `set constraints all immediate`
--   done    the stamps are final: a committing beacon burns, and all that is written from now on gets the same stamp
-- A row that takes no stamp (an update that changes nothing, a kept stamp) finds none of these and queues no event:
-- otherwise the event could run before the first stamp is taken, and what is stamped later would have no beacon.

-- A bulk load is stamped anew at commit, which takes seconds. Its stamp then lies ahead by about that time: until the
-- clock is there, the watermark passes on, and the load's rows are not listed yet. These are the stamps that were ahead
-- when they were given: no sign that the clock stepped back.
create table gateway.planned_stamp (
  stamp timestamptz not null
);
grant select, delete on gateway.planned_stamp to voucher_gateway;

-- How many rows of a list, as it was noted, have the transaction's stamp.
create function gateway.count_stamped(list text, stamp timestamptz) returns bigint
language plpgsql
as $$
declare
  kind constant text := split_part(list, ':', 1);
  owner constant text := split_part(list, ':', 2);
begin
  if kind = 'tenant' then
    return (select count(*) from public.tenant where updated_at = stamp);
  elsif owner = '*' then
    return (select coalesce(sum(gateway.count_stamped(kind || ':' || owners.id, stamp)), 0)
            from (select id from public.tenant
                  union select removal.tenant_id from gateway.removal where kind = 'removal') owners);
  end if;
  return case kind
    when 'product' then (
      select count(*) from public.product
      where tenant_id = owner::bigint and coalesce(updated_at, '-infinity') = stamp)
    when 'purchased_voucher' then (
      select count(*) from public.purchased_voucher where tenant_id = owner::bigint and updated_at = stamp)
    when 'customer' then (
      select count(*) from public.customer where tenant_id = owner::bigint and updated_at = stamp and marketing_opted)
    else (select count(*) from gateway.removal where tenant_id = owner::bigint and updated_at = stamp)
  end;
end $$;

-- For how long to plan to stamp so many rows anew, in microseconds; 0 for less than 5,000. Measured: it takes 0.6 to 1.4
-- times as long as it took to write them. 2.5 times is planned, because the watermark waits for what takes longer, and at
-- most 100 µs a row, for a transaction that was idle meanwhile.
create function gateway.restamping_time(rows bigint, lit bigint) returns bigint
language sql volatile
return case when rows < 5000 then 0 else least((gateway.clock_microseconds() - lit) * 2.5, rows * 100) end::bigint;

-- Takes the stamp that all rows of this transaction get. The notes are the transaction's own settings; a rollback to a
-- savepoint undoes them and the beacon alike.
create or replace function gateway.stamp() returns timestamptz
language plpgsql
as $$
declare
  noted text := current_setting('gateway.stamp', true);
  lit bigint;
  done text;
begin
  if noted <> '' then
    return gateway.from_microseconds(noted::bigint);
  end if;
  lit := gateway.clock_microseconds();
  done := pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.writing(), lit));
  noted := gateway.clock_microseconds()::text;
  done := set_config('gateway.lit', lit::text, true) || set_config('gateway.stamp', noted, true)
    || set_config('gateway.commit_event', 'wanted', true);
  return gateway.from_microseconds(noted::bigint);
end $$;

-- Gives the transaction a final stamp, under a committing beacon that burns until its end, and stamps anew what it has
-- written so far. `ahead` is in microseconds; null means as long as that takes.
create function gateway.take_final_stamp(ahead bigint) returns void
language plpgsql
as $$
declare
  former constant timestamptz := gateway.from_microseconds(nullif(current_setting('gateway.stamp', true), '')::bigint);
  touched text[] := '{}';
  lit bigint;
  stamp bigint;
  list text;
begin
  if former is not null then
    touched := array_remove(regexp_split_to_array(coalesce(current_setting('gateway.touched', true), ''), ' +'), '');
    ahead := coalesce(ahead, gateway.restamping_time(
      (select coalesce(sum(gateway.count_stamped(name, former)), 0) from unnest(touched) as name)::bigint,
      current_setting('gateway.lit')::bigint));
  end if;
  lit := gateway.clock_microseconds() + coalesce(ahead, 0);
  perform pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.committing(), lit));
  stamp := greatest(lit, gateway.clock_microseconds());
  -- The settings change before the rows do: stamping a row anew goes through the stamping triggers like any change.
  perform set_config('gateway.lit', lit::text, true), set_config('gateway.stamp', stamp::text, true),
          set_config('gateway.commit_event', 'done', true);
  if ahead > 0 then
    insert into gateway.planned_stamp (stamp) values (gateway.from_microseconds(stamp));
  end if;
  foreach list in array touched loop
    perform gateway.stamp_anew(list, former, gateway.from_microseconds(stamp));
  end loop;
end $$;

-- The event: while the transaction's writing beacon is young, its stamps stand, under a committing beacon of the same
-- time.
create or replace function gateway.commit_stamps() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  lit constant bigint := current_setting('gateway.lit')::bigint;
  youth constant bigint := extract(epoch from gateway.beacon_youth()) * 1000000;
begin
  if current_setting('gateway.commit_event') = 'done' then
    return null;
  end if;
  if gateway.clock_microseconds() - lit < youth then
    perform pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.committing(), lit));
    if gateway.clock_microseconds() - lit < youth then
      perform set_config('gateway.commit_event', 'done', true);
      return null;
    end if;
  end if;
  perform gateway.take_final_stamp(null);
  return null;
end $$;

do $$
declare
  name text;
begin
  foreach name in array array['public.tenant', 'public.product', 'public.purchased_voucher', 'public.customer', 'gateway.removal']
  loop
    execute format('drop trigger z_commit_stamps on %s', name);
    execute format($trigger$
      create constraint trigger z_commit_stamps after insert or update on %s
      deferrable initially deferred for each row
      when (case when current_setting('gateway.commit_event', true) = 'wanted'
                 then set_config('gateway.commit_event', 'queued', true) = 'queued' else false end)
      execute function gateway.commit_stamps()$trigger$, name);
    execute format('alter table %s enable always trigger z_commit_stamps', name);
  end loop;
end $$;

-- For a bulk load, as the first statement of its transaction: the rows get their final stamp as they are written, and
-- are written once. The watermark stays where it is until the transaction ends, for all lists; with `expected`, how long
-- the load is expected to take, it stays only when the load takes longer, and the rows are not listed before that time
-- is over. Returns the stamp.
create function gateway.hold(expected interval default interval '0') returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not expected between interval '0' and interval '1 hour' then
    raise exception 'expected must be an interval of 0 to 60 minutes, for example ''2 minutes'', and not ''%''', expected
      using errcode = 'invalid_parameter_value';
  end if;
  perform gateway.take_final_stamp((extract(epoch from expected) * 1000000)::bigint);
  return gateway.stamp();
end $$;
