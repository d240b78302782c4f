-- Returns the keys that rules return for the notes of transactions, at most `at_most` for each rule. Rows with more
-- keys, and all rows of a transaction with many rows, become waiting rows.
create or replace function gateway.take_affected(xids xid8[], at_most integer) returns setof gateway.record_key
language plpgsql
as $$
declare
  large constant xid8[] := array(
    select xid from gateway.note where xid = any(xids) and source is not null group by xid having count(*) > 100);
  changed gateway.source_row[];
  affected gateway.record_key[];
begin
  for changed in
    select array_agg(distinct (record, source, key)::gateway.source_row) from gateway.note
    where xid = any(xids) and source is not null and key is not null and xid <> all(large) group by record, source
  loop
    affected := case when cardinality(changed) <= at_most then array(select affected_keys from gateway.affected_keys(changed)) end;
    if cardinality(affected) <= at_most then
      return query select * from unnest(affected);
    else
      insert into gateway.waiting_row (record, source, key) select record, source, key from unnest(changed) on conflict do nothing;
    end if;
  end loop;
  insert into gateway.waiting_row (record, source, key)
  select record, source, key from gateway.note where xid = any(large) and source is not null and key is not null on conflict do nothing;
end $$;
