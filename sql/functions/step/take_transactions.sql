-- Returns the new transactions with at most `at_most` notes. Records all other new transactions as large transactions.
-- Stops counting the notes of a transaction above `at_most`.
create or replace function gateway.take_transactions(taken pg_snapshot, at_most integer) returns xid8[]
language sql
begin atomic
  with recursive found (xid) as (
    (select xid from gateway.note where xid >= pg_snapshot_xmax(taken) order by xid limit 1)
    union all
    select (select note.xid from gateway.note where note.xid > found.xid order by note.xid limit 1) from found where found.xid is not null
  ), counted as materialized (
    select xid, (select count(*) from (select from gateway.note where note.xid = new.xid limit at_most + 1) one) as notes
    from (select xid from found union all select pg_snapshot_xip(taken)) new where xid is not null
  ), large as (
    insert into gateway.large_transaction (xid) select xid from counted where notes > at_most on conflict do nothing
  )
  select array_agg(xid) from counted where notes between 1 and at_most;
end;
