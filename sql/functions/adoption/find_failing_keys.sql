-- Returns up to `at_most` keys for which a query over the keys $1 fails, with the reasons.
create or replace function gateway.find_failing_keys(query text, keys text[], at_most integer) returns table (key text, reason text)
language plpgsql
as $$
declare
  half constant integer := cardinality(keys) / 2;
  found_rows integer;
begin
  if at_most > 0 then
    perform from gateway.read_as_reader(query, keys) as (read text);
  end if;
exception when others then
  if half = 0 then
    return query select keys[1], sqlerrm;
    return;
  end if;
  return query select * from gateway.find_failing_keys(query, keys[:half], at_most);
  get diagnostics found_rows = row_count;
  return query select * from gateway.find_failing_keys(query, keys[half + 1:], at_most - found_rows);
end $$;
