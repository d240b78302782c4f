create or replace function {signature} returns {result}
language plpgsql security definer set search_path = pg_catalog, pg_temp set row_security = off set jit = off
as $body$
begin
  if current_user <> 'voucher_gateway_reader' then
    raise exception 'the functions that read sources belong to %, not to voucher_gateway_reader: run the command migrate', current_user
      using errcode = 'insufficient_privilege';
  end if;
  begin
    {statements}
  exception when others or query_canceled or assert_failure then
    {on_error}
  end;
end $body$;
revoke execute on function {signature} from public;
