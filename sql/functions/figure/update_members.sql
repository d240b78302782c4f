-- Updates gateway.figure_member and the rollups, so that they match the tree of tenants and the large tenants.
--
-- tree: the result of gateway.tree_members; null when the tree has not changed.
create or replace function gateway.update_members(tree gateway.figure_member[]) returns void
language plpgsql
as $$
declare
  added gateway.figure_member[];
  removed gateway.figure_member[];
  rollup record;
begin
  with difference as materialized (
    select * from gateway.figure_member_differences(tree)
  ), inserted as (
    insert into gateway.figure_member (ancestor_id, tenant_id) select ancestor_id, unnest(lacking) from difference returning figure_member as member
  ), deleted as (
    delete from gateway.figure_member using difference
    where figure_member.ancestor_id = difference.ancestor_id and tenant_id = any(surplus) returning figure_member as member
  ), counted as materialized ( -- Leaves out tenants without records, which would take most of the time.
    select tenant_id
    from (select (member).tenant_id from inserted union select (member).tenant_id from deleted) changed
    where exists (select from gateway.voucher_count where voucher_count.tenant_id = changed.tenant_id and vouchers > 0)
      or exists (select from gateway.customer where customer.tenant_id = changed.tenant_id)
      or exists (select from gateway.consent_withdrawal where consent_withdrawal.tenant_id = changed.tenant_id)
  )
  select array(select member from inserted where (member).tenant_id in (select tenant_id from counted)),
         array(select member from deleted where (member).tenant_id in (select tenant_id from counted))
  into added, removed;
  for rollup in select ancestor_id, array_agg(tenant_id) as tenants from unnest(added) group by 1 order by 1 loop
    perform gateway.add_to_rollups(array(select counted from gateway.count_rollup(rollup.ancestor_id, rollup.tenants) counted));
  end loop;
  for rollup in select ancestor_id, array_agg(tenant_id) as tenants from unnest(removed) group by 1 order by 1 loop
    perform gateway.add_to_rollups(array(
      select (ancestor_id, kind, grain, at, currency, state, product_id, -records, -initial, -balance, -paid)::gateway.figure_rollup
      from gateway.count_rollup(rollup.ancestor_id, rollup.tenants)));
  end loop;
end $$;
