-- Corrects the members and the sums of rollups. Steps wait.
create or replace function gateway.repair_figures() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  lock table gateway.step_lock in exclusive mode;
  perform gateway.update_members(array(select member from gateway.tree_members() member));
  perform gateway.add_to_rollups(array(select difference from gateway.figure_differences() difference));
  perform gateway.repeat_step();
end $$;
grant execute on function gateway.repair_figures to voucher_gateway;
