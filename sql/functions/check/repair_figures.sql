-- Corrects the members and the sums of rollups, and the heads of lists, while steps wait. After wrong heads, clients
-- need a full pass, because they may have missed changes.
create or replace function gateway.repair_figures() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  wrong gateway.list_head[];
begin
  lock table gateway.step_lock in exclusive mode;
  perform gateway.update_members(array(select member from gateway.tree_members() member));
  perform gateway.add_to_rollups(array(select difference from gateway.figure_differences() difference));
  wrong := array(select head from gateway.head_differences() head);
  perform gateway.repeat_step();
  if cardinality(wrong) > 0 then
    delete from gateway.list_head using unnest(wrong) head
    where list_head.tenant_id = head.tenant_id and list_head.record = head.record;
    perform gateway.write_heads(array(select change from gateway.last_changes() change join unnest(wrong) using (tenant_id, record)));
    perform gateway.require_full_pass();
  end if;
end $$;
grant execute on function gateway.repair_figures to voucher_gateway;
