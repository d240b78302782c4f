-- Returns the identity of the former server once after a change, and null at all other times.
create or replace function gateway.report_server_change() returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  former text;
begin
  perform gateway.detect_server_change();
  update gateway.sync_state set former_server = null
  from (select former_server from gateway.sync_state where former_server is not null for update) changed
  returning changed.former_server into former;
  return former;
end $$;
grant execute on function gateway.report_server_change to voucher_gateway;
