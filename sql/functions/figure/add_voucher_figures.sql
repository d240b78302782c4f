-- Adds the difference between former and present vouchers to the counts and the rollups.
--
-- Returns true when the set of large tenants has changed.
create or replace function gateway.add_voucher_figures(fresh gateway.voucher[], stale gateway.voucher[]) returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  crosses boolean;
begin
  with change as (
    select tenant_id, sum(sign) as added
    from (select tenant_id, 1 as sign from unnest(fresh) union all select tenant_id, -1 from unnest(stale)) voucher
    group by tenant_id having sum(sign) <> 0
  ), counted as (
    insert into gateway.voucher_count (tenant_id, vouchers) select tenant_id, added from change
    on conflict (tenant_id) do update set vouchers = voucher_count.vouchers + excluded.vouchers
    returning tenant_id, vouchers
  )
  select exists (select from counted join change using (tenant_id)
                 where (vouchers > gateway.most_counted()) <> (vouchers - added > gateway.most_counted())) into crosses;
  -- Most changed vouchers differ only in the balance, so they add only the difference of the balances. A new voucher
  -- has no former row, and a removed voucher has no present row. Their columns are null, and no rollup includes the
  -- tenant null.
  perform gateway.add_figures(array(
    with pair as materialized (
      select present, former, present.current_balance - former.current_balance as added,
             (present.tenant_id, present.state, present.currency, present.purchase_timestamp, present.ends_on, present.sold_product_id,
              present.initial_balance, present.purchase_value, present.current_balance is null)
             is not distinct from
             (former.tenant_id, former.state, former.currency, former.purchase_timestamp, former.ends_on, former.sold_product_id,
              former.initial_balance, former.purchase_value, former.current_balance is null) as is_alike
      from unnest(fresh) present full join unnest(stale) former using (id)
    )
    select figure from pair, gateway.figures_of(present, 0, added) figure where is_alike and added <> 0
    union all
    select figure from pair, gateway.figures_of(present, 1, (present).current_balance) figure where not is_alike
    union all
    select figure from pair, gateway.figures_of(former, -1, -(former).current_balance) figure where not is_alike));
  return crosses;
end $$;
