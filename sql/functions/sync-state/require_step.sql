-- Fails unless the calling statement sees the given step, and no later epoch. So a statement fails on a standby that is
-- late, or that has the records of a replaced server.
create or replace function gateway.require_step(wanted_epoch bigint, wanted_stamp timestamptz) returns boolean
language plpgsql stable parallel safe
as $$
begin
  if (select epoch from gateway.sync_state) = wanted_epoch
    and (select stamp from gateway.step order by stamp desc limit 1) >= wanted_stamp then
    return true;
  end if;
  raise exception 'the server does not show the step %', wanted_stamp using errcode = 'serialization_failure';
end $$;
grant execute on function gateway.require_step to voucher_gateway;
