-- Captures the first source again whose triggers are missing, disabled or replaced, and returns its name; null when there is none that
-- the owner of this function may alter. A call locks one source, and skips a source whose lock it does not get immediately. One session
-- repairs a source at a time: it locks the rules, and then looks again.
create or replace function gateway.repair_capture() returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms'
as $$
declare
  missing text;
begin
  for missing in
    select uncaptured.source from gateway.find_uncaptured() uncaptured join pg_class on pg_class.oid = to_regclass(uncaptured.source)
    where pg_has_role(relowner, 'usage') order by 1
  loop
    begin
      perform from gateway.rule where source = missing for update nowait;
      continue when missing not in (select source from gateway.find_uncaptured());
      call gateway.capture(missing::regclass);
      -- Otherwise each call would let steps compare all its records.
      if missing not in (select source from gateway.find_uncaptured()) then
        return missing;
      end if;
      raise 'The triggers of % are still not as they must be.', missing;
    exception
      when others then -- Its reason stays in /readyz, with the statement that shows the error.
        if gateway.passes_by_itself(sqlstate) then
          raise;
        end if;
    end;
  end loop;
  return null;
end $$;
grant execute on function gateway.repair_capture to voucher_gateway;
