-- Makes the reader the owner of the given functions.
create or replace procedure gateway.give_to_reader()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  misplaced regprocedure;
begin
  for misplaced in select reader from gateway.misplaced_reader loop
    grant create on schema gateway to voucher_gateway_reader;
    execute format('alter function %s owner to voucher_gateway_reader', misplaced);
    revoke create on schema gateway from voucher_gateway_reader;
  end loop;
end $$;
