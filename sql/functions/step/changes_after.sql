-- Returns a row when the records lack changes of tenants (with `of_vouchers`, of tenants or vouchers) that a
-- transaction with the snapshot `seen` can see, or this transaction if `seen` is null. The function is one select,
-- which PostgreSQL inlines, so an ordinary resolution reads only the last step and no notes.
create or replace function gateway.changes_after(of_vouchers boolean, seen pg_snapshot) returns setof boolean
language sql stable
begin atomic
  select true from (select * from gateway.step order by stamp desc limit 1) step
  where exists (
      select from gateway.note
      where record = 'tenant' and xid >= pg_snapshot_xmin(snapshot) and not pg_visible_in_snapshot(xid, snapshot)
        and (seen is null or pg_visible_in_snapshot(xid, seen)))
    or of_vouchers and exists (
      select from gateway.note
      where record = 'voucher' and xid >= pg_snapshot_xmin(snapshot) and not pg_visible_in_snapshot(xid, snapshot)
        and (seen is null or pg_visible_in_snapshot(xid, seen)))
    or behind_since is not null and gateway.changes_wait(of_vouchers, waited);
end;
grant execute on function gateway.changes_after to voucher_gateway;
