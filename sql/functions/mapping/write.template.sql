-- Evaluates the mapping for the given keys, and writes the records that differ, with stamps after the latest stamp.
-- With `counts`, it also changes the figures, and returns the heads of lists.
create or replace function gateway.write_{record}(keys text[], latest timestamptz, counts boolean) returns gateway.written
language plpgsql
as $body$
declare
  -- A key without an id has no record, because only rows of the source get ids.
  ids constant bigint[] := gateway.ids_of('{record}', keys, false);
  fresh_rows gateway.{record}_fields[];
  stale_rows gateway.{record}[];
  written_rows gateway.{record}[];
  former gateway.rejected[];
  readmitted bigint[];
  rejected_ids bigint[];
  leaving_rows gateway.{record}_fields[];
  withdrawals gateway.consent_withdrawal[];
  has_twins boolean;
  written gateway.written;
begin
  with deleted as (
    delete from gateway.rejected
    where record = '{record}' and key = any(array(select gateway.short_key(key) from unnest(keys) key)) returning key, rejected
  )
  select gateway.ids_of('{record}', array_agg(key), false), array_agg(rejected) into readmitted, former from deleted;
  select array_agg(fresh) filter (where (fresh).id is not null and differs),
         array_agg(stale) filter (where (stale).id is not null and differs), count(id) > count(distinct id)
  into fresh_rows, stale_rows, has_twins
  from (select fresh, stale, id, fresh is distinct from stale::gateway.{record}_fields or id = any(readmitted) as differs
        from (select fresh, id from gateway.source_of_{record}(keys, true) fresh) source
        full join (select stale, id from gateway.{record} stale where id = any(ids)) record using (id)) compared;
  if has_twins then
    raise unique_violation using message = 'the select has several rows of this key';
  end if;
  if cardinality(keys) > 1 and pg_column_size(fresh_rows) > 8000000 then
    perform gateway.stop_reading();
  end if;

  with rejected as (
    insert into gateway.rejected (record, key, reason, tenant_id, since)
    select '{record}', key, left(reason, 1000), tenant_id, coalesce(since, clock_timestamp()) from (
      select (gateway.keys_of('{record}', array[id]))[1] as key, reason, tenant_id from (
      select (candidate).id, case when not gateway.is_identifier((candidate).id) then 'the key is not between 1 and 2^53 - 1'{nulls}
                                  else gateway.error_of(candidate) end as reason, null::bigint as tenant_id
      -- The row is one column, because each use of several columns would copy it.
      from (select unnest(fresh_rows) as candidate) fresh_row{more_errors}
      ) candidate where reason is not null
    ) rejected_row left join (select key, since from unnest(former)) former using (key)
    on conflict do nothing returning key
  )
  select gateway.ids_of('{record}', array_agg(key), false) into rejected_ids from rejected;
  if rejected_ids is not null then
    leaving_rows := array(
      select fresh from unnest(fresh_rows) fresh join unnest(stale_rows) stale using (id) where id = any(rejected_ids) and ({leaves}));
    fresh_rows := array(select fresh from unnest(fresh_rows) fresh where id <> all(rejected_ids));
    stale_rows := array(
      select stale from unnest(stale_rows) stale where id <> all(rejected_ids) or id in (select id from unnest(leaving_rows)));
  end if;

  delete from gateway.{record}
  where id = any(array(select id from unnest(stale_rows) except select id from unnest(fresh_rows)));
  with fresh as materialized (
    select *, latest + row_number() over (order by id) * interval '1 microsecond' as stamp from unnest(fresh_rows)
  ), updated as (
    update gateway.{record} as kept set {set_columns}, updated_at = stamp from fresh
    where kept.id = fresh.id and kept.id = any(array(select id from unnest(stale_rows)))
    returning kept as record
  ), inserted as (
    insert into gateway.{record} as kept ({columns}, updated_at)
    select {fresh_columns}, stamp from fresh where id not in (select id from unnest(stale_rows))
    returning kept as record
  )
  select array_agg(record) into written_rows from (select record from updated union all select record from inserted) written_row;
  written.latest := latest + coalesce(cardinality(fresh_rows), 0) * interval '1 microsecond';
  written.changed := array(select id from unnest(fresh_rows) union select id from unnest(stale_rows));{more_writes}
  return written;
end $body$;
