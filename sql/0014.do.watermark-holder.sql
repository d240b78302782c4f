-- The transaction that holds the watermark: lists stand still behind the oldest write marker that counts (0003).

-- Returns the holder of the oldest committing marker when the marker is older than an interval; otherwise no row.
-- Exactly one of gid and pid is not null: a prepared transaction has no backend.
--
-- Runs as the owner of the schema: pg_stat_activity shows the state of other roles' sessions only to superusers and members
-- of pg_read_all_stats. The columns are null when the owner is neither of the two.
create function gateway.watermark_holder(older_than interval) returns table (
  held_since timestamptz, gid text, pid integer, login text, application text, state text, transaction_since timestamptz
)
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  select gateway.from_microseconds(marker.marked_at), prepared.gid, marker.pid,
         coalesce(prepared.owner, activity.usename)::text, activity.application_name, activity.state,
         coalesce(prepared.prepared, activity.xact_start)
  from gateway.write_marker marker
  left join pg_stat_activity activity on activity.pid = marker.pid
  -- A prepared transaction keeps the virtual transaction id of its former backend, and the lock on its own transaction id.
  left join pg_locks own on marker.pid is null and own.pid is null and own.locktype = 'transactionid'
    and own.virtualtransaction = marker.virtualtransaction
  left join pg_prepared_xacts prepared on prepared.transaction = own.transactionid
  where marker.kind = gateway.committing_marker()
    and marker.marked_at < gateway.clock_microseconds() - extract(epoch from older_than) * 1000000
  order by marker.marked_at limit 1;
end;

revoke all on function gateway.watermark_holder from public;
grant execute on function gateway.watermark_holder to voucher_gateway;
