-- Records the failure of a step. Returns true when only a step without a time limit can continue: in the first fill, to
-- create an index or sum all figures; later, to move tenants, which sums their figures.
create or replace function gateway.record_step_failure(failed_code text, failed_message text) returns boolean
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into gateway.step_failure (code, message) values (failed_code, gateway.without_values(failed_message))
  on conflict (only_row) do update
  set latest = clock_timestamp(), times = least(step_failure.times + 1, 5), code = excluded.code, message = excluded.message;
  select failed_code = '57014' and (times > 4 or not coalesce((select is_complete from gateway.step order by stamp desc limit 1), false))
  from gateway.step_failure;
end;
grant execute on function gateway.record_step_failure to voucher_gateway;
