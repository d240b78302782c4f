-- Stops an evaluation of keys that takes too long. Steps then evaluate fewer keys at a time.
create or replace function gateway.stop_reading() returns boolean
language plpgsql
as $$
begin
  raise exception 'these keys take too long together' using errcode = 'GW001';
end $$;
grant execute on function gateway.stop_reading to voucher_gateway_reader;
