-- Deallocates the statements that SQL has prepared, because the driver may use the same name for its own statement.
create or replace function gateway.deallocate_prepared() returns void
language plpgsql
as $$
declare
  prepared text;
begin
  for prepared in select name from pg_prepared_statements where from_sql loop
    execute format('deallocate %I', prepared);
  end loop;
end $$;
grant execute on function gateway.deallocate_prepared to voucher_gateway_reader;
