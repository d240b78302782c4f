-- The watermark: until when a page may list rows, so that a client that resumes misses none.
--
-- updated_at says when a change could first be seen, not when it was written. A client that resumes from server_time must
-- find every row that it has not read. A row that is stamped in one transaction and committed later lies behind the
-- clients that read in between. So a transaction takes a write marker before it takes its stamp, and keeps the marker
-- until its commit is visible. The marker is a shared advisory lock whose key is the time: Postgres releases it when the
-- transaction ends, also when the session dies. Readers look at the markers first (pg_locks); the oldest one is the
-- watermark. Then, under a snapshot that is taken after that, they list the rows that are stamped before the watermark.
-- All these locks are shared, so neither writers nor readers wait.
--
-- The marker of a transaction that is open for seconds would hold the watermark for seconds. So there are two kinds:
--   writing     taken at the first change, before the rows are stamped. It counts during its lifetime of some milliseconds.
--   committing  taken at commit; it always counts. While the writing marker counts, the committing marker has the same
--               time, and the stamps stay. Otherwise it has a new time, and the rows get a new stamp after it.
-- A reader that ignores an expired writing marker looked after the marker expired. A transaction that keeps its stamps took
-- its committing marker before that: the reader sees this marker, or the commit.
--
-- Assumptions: pages are read on the primary under READ COMMITTED, and the clock does not step back.

-- Returns the clock in microseconds since 1970.
create function gateway.clock_microseconds() returns bigint
language sql volatile parallel safe
return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- Returns the instant that is so many microseconds after 1970.
create function gateway.from_microseconds(count bigint) returns timestamptz
language sql immutable parallel safe
return timestamptz 'epoch' + count * interval '1 microsecond';

-- The kinds of write markers.
create function gateway.writing_marker() returns integer language sql immutable parallel safe return 1711;
create function gateway.committing_marker() returns integer language sql immutable parallel safe return 1712;

-- Returns how long a writing marker counts. A shorter time means less lag, and more transactions that write their rows
-- twice.
create function gateway.writing_marker_lifetime() returns interval
language sql immutable parallel safe
return interval '5 milliseconds';

-- Returns the key of a write marker's advisory lock: the kind above 52 bits, the time in microseconds below.
create function gateway.write_marker_key(kind integer, marked_at bigint) returns bigint
language sql immutable parallel safe
return (kind::bigint << 52) | marked_at;

-- Returns until when a page may list: every row with an earlier stamp is visible to a statement that begins after this
-- call, and no row will get an earlier stamp. Raises an error on a standby, and outside READ COMMITTED, where the next
-- statement would see an older snapshot.
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
  select min(marker.marked_at) into oldest
  from (
    select (classid::bigint << 32 | objid::bigint) >> 52 as kind,
           (classid::bigint << 32 | objid::bigint) & ((1::bigint << 52) - 1) as marked_at
    from pg_locks
    where locktype = 'advisory' and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
  ) marker
  where marker.kind = gateway.committing_marker()
    or (marker.kind = gateway.writing_marker() and looked_at - marker.marked_at < lifetime);
  return gateway.from_microseconds(least(looked_at, oldest));
end $$;
