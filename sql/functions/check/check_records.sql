-- Compares the next records of the check, and notes the keys of records that differ, and of rejected rows. Returns the keys of records
-- that differ. A type that steps compare, or whose mapping does not fit, is left out. When more than a tenth of the records
-- have no row in the source, or it cannot be read, steps compare the whole type: a scan stops before it removes too much. A mapping
-- that has stopped to fit is recorded immediately: maybe no row was written since.
--
-- Its transaction is REPEATABLE READ, so that no step comes between its statements. Returns nothing while another session compares.
create or replace function gateway.check_records(at_most integer) returns setof gateway.record_key
language plpgsql security definer set search_path = pg_catalog, pg_temp set row_security = off set jit = off
as $$
declare
  last gateway.step;
  progress gateway.check_progress;
  keys text[];
  next text;
  differing gateway.record_difference[];
  lost constant text := 'The source has no row.';
  needs_scan text;
  following gateway.record_type;
begin
  select * into last from gateway.step order by stamp desc limit 1;
  select * into progress from gateway.check_progress for update skip locked;
  if not found then
    return;
  end if;
  perform gateway.check_fitting(array(select gateway.comparable_types(last)));
  if progress.record in (select gateway.comparable_types(last)) then
    begin
      select part.keys, part.reached into keys, next from gateway.scan_keys(progress.record, progress.reached, at_most) part;
      differing := array(select difference from gateway.find_differences(progress.record, keys, last) difference);
      if (select count(*) from unnest(differing) where reason = lost) > greatest(20, cardinality(keys) / 10) then
        needs_scan := 'Rows of the source are missing.';
      end if;
      call gateway.require_unchanged_sources(progress.record);
    exception
      when lock_not_available then -- The next call tries again.
        return;
      when others then
        if gateway.passes_by_itself(sqlstate) then
          raise;
        end if;
        needs_scan := sqlerrm;
    end;
    if needs_scan is not null then
      perform gateway.request_scan(progress.record, needs_scan);
    else
      insert into gateway.note (record, key)
      select record, key from unnest(differing)
      union all
      select record, key from gateway.rejected where record = progress.record and key = any(keys);
    end if;
    return query select record, key from unnest(differing);
  end if;
  following := case when next is null then (select min(record) from gateway.mapping where record > progress.record)
                    else progress.record end;
  update gateway.check_progress
  set reached = next, record = coalesce(following, 'tenant'),
      began = case when following is null then last.stamp when cardinality(differing) = 0 then began end,
      verified_through = case when following is null and cardinality(differing) = 0 then coalesce(began, verified_through)
                              else verified_through end,
      differed = differed + coalesce(cardinality(differing), 0);
end $$;
grant execute on function gateway.check_records to voucher_gateway;
