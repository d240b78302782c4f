-- Replaces some waiting rows, and the next notes of large transactions, by waiting keys, unless `at_most` keys already
-- wait.
create or replace function gateway.expand_waiting(at_most integer, waited bigint) returns void
language plpgsql
as $$
declare
  types constant gateway.record_type[] := enum_range(null::gateway.record_type);
  began constant timestamptz := clock_timestamp();
  blocks constant integer := 50;
  changed gateway.source_row[];
  large gateway.large_transaction;
  part gateway.note[];
begin
  while not exists (select from gateway.waiting_key where place > waited offset at_most)
    and clock_timestamp() < began + interval '100 milliseconds'
  loop
    with taken as (
      delete from gateway.waiting_row where ctid = any(array(select ctid from gateway.waiting_row limit greatest(1, at_most / 20)))
      returning waiting_row
    )
    select array_agg((record, source, key)::gateway.source_row) into changed from taken, lateral (select (waiting_row).*) row;
    if changed is not null then
      insert into gateway.waiting_key (record, key) select record, key from gateway.affected_keys(changed) on conflict do nothing;
    end if;
    select * into large from gateway.large_transaction order by xid limit 1;
    exit when large is null and changed is null;
    continue when large is null;
    large.block := case when large.file = pg_relation_filenode('gateway.note') then large.block else 0 end;
    -- Reads by blocks, because the index leads to all notes of the transaction.
    part := array(
      select note from gateway.note
      where ctid >= format('(%s,0)', large.block)::tid and ctid < format('(%s,0)', large.block + blocks)::tid
        and xid is not distinct from large.xid);
    perform gateway.request_scan(record, min(reason), coalesce(bool_or(truncated), false))
    from unnest(part) where key is null group by record;
    insert into gateway.waiting_row (record, source, key)
    select record, source, key from unnest(part) where source is not null and key is not null on conflict do nothing;
    -- Records come after the records that they refer to. Adjacent records come together, because they share pages and
    -- sums of figures. The order is by one text, which sorts several times faster than columns. In the text, the length
    -- of an id precedes the id.
    insert into gateway.waiting_key (record, key)
    select record, key from unnest(part) join gateway.mapping using (record)
    where key is not null and source is null
    order by concat(array_position(types, record), case key_type when 'bigint' then (10 + length(key)) || key end) collate "C"
    on conflict do nothing;
    delete from gateway.large_transaction
    where xid = large.xid and (large.block + blocks) * current_setting('block_size')::integer >= pg_relation_size('gateway.note');
    update gateway.large_transaction set block = large.block + blocks, file = pg_relation_filenode('gateway.note') where xid = large.xid;
  end loop;
end $$;
