-- Captures again the first source whose triggers are missing, disabled or replaced, and returns its name. Returns null
-- when there is no such source, or the owner of this function may not alter it. A call locks one source, and skips
-- sources whose lock is not free. The function locks the rules and then checks the source again, so that only one
-- session at a time repairs it.
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
      -- Without this check, each call would make steps compare all records of the source.
      if missing not in (select source from gateway.find_uncaptured()) then
        return missing;
      end if;
      raise 'The triggers of % are still not as they must be.', missing;
    exception
      when others then -- /readyz still shows the reason, and the statement that shows this error.
        if gateway.passes_by_itself(sqlstate) then
          raise;
        end if;
    end;
  end loop;
  return null;
end $$;
grant execute on function gateway.repair_capture to voucher_gateway;
