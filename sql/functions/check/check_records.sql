-- Compares the next records of the check with the source. Notes the keys of records that differ and of rejected rows,
-- and returns the keys of records that differ. Skips a type whose mapping does not fit, or that steps compare. When
-- more than a tenth of the records have no row in the source, or the source cannot be read, a scan by steps compares
-- the whole type: a scan stops before it removes too many records. A mapping that no longer fits is recorded
-- immediately, because steps notice it only after a row is written.
--
-- Call it in a REPEATABLE READ transaction, so that all its statements see the records of the same step. Returns
-- nothing while another session compares.
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
      when lock_not_available then -- The next call repeats it.
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
