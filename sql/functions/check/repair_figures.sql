-- Corrects the members and the sums of rollups, and the heads of lists: these lists count as changed now. Steps wait.
create or replace function gateway.repair_figures() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  lock table gateway.step_lock in exclusive mode;
  perform gateway.update_members(array(select member from gateway.tree_members() member));
  perform gateway.add_to_rollups(array(select difference from gateway.figure_differences() difference));
  perform gateway.write_heads(array(
    select (tenant_id, record, stamp)::gateway.list_head from gateway.repeat_step() stamp, gateway.head_differences()));
end $$;
grant execute on function gateway.repair_figures to voucher_gateway;
