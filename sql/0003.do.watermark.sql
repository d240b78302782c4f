-- The watermark: until when a page may list rows, so that a client that resumes misses none.
--
-- updated_at says when a change could first be seen, not when it was written: a row that is stamped in one transaction and
-- committed later would lie behind the clients that read in between. So a transaction takes a write marker before its stamp,
-- and keeps it until its commit is visible: a shared advisory lock whose key is the time. Readers look at the markers first;
-- the oldest one is the watermark. Then, under a later snapshot, they list the rows that are stamped before the watermark.
--
-- The marker of a transaction that is open for seconds would hold the watermark for seconds. So there are two kinds:
--   writing     taken at the first change, before the rows are stamped. It counts during its lifetime of some milliseconds.
--   committing  taken at commit; it always counts. While the writing marker counts, the committing marker has the same
--               time, and the stamps stay. Otherwise it has a new time, and the rows get a new stamp that is no earlier.
-- A reader that ignores an expired writing marker looked after the marker expired. A transaction that keeps its stamps took
-- its committing marker before that: the reader sees this marker, or the commit. docs/operating.md has the assumptions.

-- Returns the clock in microseconds since 1970.
create function gateway.clock_microseconds() returns bigint
language sql volatile parallel safe
return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- Returns the instant that is the given number of microseconds after 1970. Stable, as the operators are: Postgres
-- inlines no function that is declared immutable and calls stable ones.
create function gateway.from_microseconds(count bigint) returns timestamptz
language sql stable parallel safe
return timestamptz 'epoch' + count * interval '1 microsecond';

-- The recorded clock, in microseconds. The service records the clock each second and when it stops, and no watermark lies
-- ahead of it by more than gateway.recording_allowance(). A writer that finds the clock behind the recorded one sets
-- gateway.clock_step to the recorded clock, and the service requires a full pass (0008), at its next start at the latest.
-- Both are sequences: every snapshot shows their latest value, and a rollback does not undo it.
create sequence gateway.recorded_clock minvalue 0;
create sequence gateway.clock_step minvalue 0;
select setval('gateway.recorded_clock', 0), setval('gateway.clock_step', 0);
grant select on gateway.recorded_clock, gateway.clock_step to public;

-- Returns by how much a watermark may lie ahead of the recorded clock, in microseconds.
create function gateway.recording_allowance() returns bigint language sql immutable parallel safe return 2000000;

-- Records the clock. The lock keeps a session that was suspended from recording an earlier clock after a later one.
create function gateway.record_clock() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(1713::bigint << 52);
  perform setval('gateway.recorded_clock', present)
  from gateway.clock_microseconds() as present where present > pg_sequence_last_value('gateway.recorded_clock');
end $$;

-- Returns the clock in microseconds. Sets gateway.clock_step when the clock lies behind the recorded one. Every login
-- that writes may do so.
create function gateway.detect_clock_step() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  -- Read before the clock: a clock that is recorded in between is no step back.
  recorded constant bigint := pg_sequence_last_value('gateway.recorded_clock');
  present constant bigint := gateway.clock_microseconds();
begin
  if present < recorded and pg_sequence_last_value('gateway.clock_step') <> recorded then
    perform setval('gateway.clock_step', recorded);
  end if;
  return present;
end $$;

-- Does the same, but calls the function above, which runs as its owner and so takes longer, only after a step back.
create function gateway.checked_clock() returns bigint
language sql volatile
return case when gateway.clock_microseconds() < pg_sequence_last_value('gateway.recorded_clock')
            then gateway.detect_clock_step() else gateway.clock_microseconds() end;

-- The kinds of write markers.
create function gateway.writing_marker() returns integer language sql immutable parallel safe return 1711;
create function gateway.committing_marker() returns integer language sql immutable parallel safe return 1712;

-- Returns how long a writing marker counts. A shorter time means less lag, and more transactions that write their rows twice.
create function gateway.writing_marker_lifetime() returns interval language sql immutable parallel safe
return interval '5 milliseconds';

-- Returns the key of a write marker's advisory lock: the kind above 52 bits, the time in microseconds below.
create function gateway.write_marker_key(kind integer, marked_at bigint) returns bigint
language sql immutable parallel safe
return (kind::bigint << 52) | marked_at;

-- The 64-bit keys of all advisory locks that are held, as those of write markers.
create view gateway.write_marker as
select (classid::bigint << 32 | objid::bigint) >> 52 as kind,
       (classid::bigint << 32 | objid::bigint) & ((1::bigint << 52) - 1) as marked_at, pid, virtualtransaction
from pg_locks
where locktype = 'advisory' and objsubid = 1 and database = (select oid from pg_database where datname = current_database());
grant select on gateway.write_marker to public;

-- Returns the instant up to which a page may list: every row with an earlier stamp is visible to a statement that
-- begins after this call, and no row will get an earlier stamp. Raises an error on a standby, and outside READ
-- COMMITTED, where the next statement would see an older snapshot.
create function gateway.watermark() returns timestamptz
language plpgsql volatile
as $$
declare
  looked_at constant bigint := gateway.clock_microseconds();
  lifetime constant bigint := extract(epoch from gateway.writing_marker_lifetime()) * 1000000;
  oldest bigint;
begin
  if pg_is_in_recovery() then
    raise exception 'a standby does not see the write markers of the primary' using errcode = 'read_only_sql_transaction';
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'a page needs a snapshot of its own: READ COMMITTED' using errcode = 'active_sql_transaction';
  end if;
  select min(marked_at) into oldest from gateway.write_marker
  where kind = gateway.committing_marker() or (kind = gateway.writing_marker() and looked_at - marked_at < lifetime);
  if looked_at > pg_sequence_last_value('gateway.recorded_clock') + gateway.recording_allowance() then
    perform gateway.record_clock();
  end if;
  return gateway.from_microseconds(least(looked_at, oldest));
end $$;

-- Every login may use the schema, so this function is taken from public: it is for the service and the owner.
revoke execute on function gateway.record_clock from public;
grant execute on function gateway.record_clock to voucher_gateway;
