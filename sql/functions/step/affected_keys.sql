-- Returns the keys that rules return for rows. When a rule does not fit the tables, or fails for a row, a scan
-- evaluates the whole type later. When a table is locked, the rows wait for the next step.
--
-- checks: true to skip such a rule instead, and to write nothing.
create or replace function gateway.affected_keys(changed gateway.source_row[], checks boolean default false) returns setof gateway.record_key
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  noted record;
begin
  for noted in
    select record, source, affects, array_agg(distinct key) as keys
    from unnest(changed) join gateway.rule using (record, source) where affects is not null
    group by record, source, affects
  loop
    begin
      return query execute format('select %L::gateway.record_type, key from %s($1) key', noted.record, noted.affects) using noted.keys;
    exception
      when others then
        if gateway.passes_by_itself(sqlstate) then
          raise;
        elsif checks then
          continue;
        elsif sqlstate like '42%' then
          insert into gateway.broken_mapping (record, reason) values (noted.record, left(sqlerrm, 2000)) on conflict do nothing;
        elsif sqlstate = '55P03' then
          insert into gateway.note (record, source, key) select noted.record, noted.source, unnest(noted.keys);
        else
          perform gateway.request_scan(noted.record, left(sqlerrm, 2000));
        end if;
    end;
  end loop;
end $$;

-- Returns, for a check, the keys that rules return for all rows that steps have not taken.
create or replace function gateway.affected_keys(taken pg_snapshot) returns setof gateway.record_key
language sql
begin atomic
  select affected from gateway.affected_keys(array(
    select (record, source, key)::gateway.source_row from gateway.notes_after(taken) where source is not null and key is not null
    union all
    select (record, source, key)::gateway.source_row from gateway.waiting_row), true) affected;
end;
