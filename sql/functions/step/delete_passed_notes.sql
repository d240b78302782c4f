-- Deletes the notes that no step needs (I8).
create or replace function gateway.delete_passed_notes() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  last gateway.step;
begin
  select * into last from gateway.step order by stamp desc limit 1;
  delete from gateway.note where xid < least(
    pg_snapshot_xmin(last.snapshot), (select xid from gateway.large_transaction order by xid limit 1));
  delete from gateway.step where stamp < last.stamp - interval '1 minute';
end $$;
grant execute on function gateway.delete_passed_notes to voucher_gateway;
