-- Adds the difference between former and present vouchers to the counts and the rollups.
--
-- Returns whether the set of large tenants has changed.
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
  perform gateway.add_figures(array(
    select figure from unnest(fresh) voucher, gateway.figures_of(voucher, 1) figure
    union all select figure from unnest(stale) voucher, gateway.figures_of(voucher, -1) figure));
  return crosses;
end $$;
