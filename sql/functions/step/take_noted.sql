-- Takes the new notes and the first waiting keys, at most `at_most`. If there are more new notes, small transactions
-- come first, even before waiting keys; the notes of large transactions become waiting keys. A note of a whole table
-- becomes a scan.
--
-- waited: the last place of gateway.waiting_key that it took.
-- fresh: the number of leading keys that did not wait.
create or replace function gateway.take_noted(snapshot pg_snapshot, at_most integer, inout waited bigint, out keys gateway.record_key[], out fresh integer)
language plpgsql
as $$
declare
  at_most_new constant integer := ceil(at_most * 0.75); -- The other quarter is for keys that wait.
  xids constant xid8[] := gateway.take_transactions(snapshot, at_most_new);
  affected constant gateway.record_key[] := array(select take_affected from gateway.take_affected(xids, at_most_new));
begin
  perform gateway.request_scan(record, min(reason), coalesce(bool_or(truncated), false))
  from gateway.note where xid = any(xids) and key is null group by record;
  with noted as materialized (
    select record, key, row_number() over (order by min(size), min(xid::text::numeric)) as place
    from (
      select record, key, count(*) over (partition by xid) as size, xid from gateway.note
      where xid = any(xids) and key is not null and source is null
      union all
      select record, key, count(*) over (partition by record), null from unnest(affected)
    ) note
    group by record, key
  ), waiting as (
    insert into gateway.waiting_key (record, key) select record, key from noted where place > at_most_new order by place
    on conflict do nothing
  )
  select coalesce(array_agg((record, key)::gateway.record_key order by place), '{}') into keys from noted where place <= at_most_new;
  fresh := cardinality(keys);
  perform gateway.expand_waiting(at_most, waited);
  with taken as (
    delete from gateway.waiting_key where place = any(array(
      select place from gateway.waiting_key where place > waited order by place limit at_most - fresh)) returning *
  )
  select keys || coalesce(array_agg((record, key)::gateway.record_key order by place), '{}'), coalesce(max(place), waited) into keys, waited
  from taken;
end $$;
