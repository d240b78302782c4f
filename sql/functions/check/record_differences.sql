-- Returns the records that differ from their source. Reads all sources, but stops reading a source at its first error.
create or replace function gateway.record_differences() returns setof gateway.record_difference
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set row_security = off set jit = off
as $$
declare
  last gateway.step;
  type gateway.record_type;
  part record;
  after text;
begin
  select * into last from gateway.step order by stamp desc limit 1;
  for type in select * from gateway.comparable_types(last) loop
    after := null;
    loop
      begin
        part := gateway.scan_keys(type, after, 5000);
        return query select * from gateway.find_differences(type, part.keys, last);
        after := part.reached;
      exception
        when lock_not_available then
          raise;
        when others then
          if gateway.passes_by_itself(sqlstate) then
            raise;
          end if;
          return next (type, null, null, sqlerrm)::gateway.record_difference;
          after := null;
      end;
      exit when after is null;
    end loop;
  end loop;
end $$;
grant execute on function gateway.record_differences to voucher_gateway;
