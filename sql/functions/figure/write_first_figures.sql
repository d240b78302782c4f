-- Writes the members and the rollups of the first records, in the order of the key, so that a read finds the rows of a
-- range on few pages.
create or replace function gateway.write_first_figures() returns void
language plpgsql
as $$
declare
  rollup record;
begin
  truncate gateway.voucher_count, gateway.figure_member, gateway.figure_rollup;
  insert into gateway.voucher_count (tenant_id, vouchers) select tenant_id, count(*) from gateway.voucher group by tenant_id;
  for rollup in
    select * from gateway.figure_member_differences(array(select member from gateway.tree_members() member))
  loop
    insert into gateway.figure_member (ancestor_id, tenant_id) select rollup.ancestor_id, unnest(rollup.lacking);
    insert into gateway.figure_rollup (ancestor_id, kind, grain, at, currency, state, product_id, records, initial, balance, paid)
    select ancestor_id, kind, grain, at, currency, state, product_id, records, initial, balance, paid
    from gateway.count_rollup(rollup.ancestor_id, rollup.lacking) order by 1, 2, 3, 4, 5, 6, 7;
  end loop;
  create unique index figure_rollup_key on gateway.figure_rollup (ancestor_id, kind, grain, at, currency, state, product_id);
end $$;
