-- Adds changes of tenants to the rollups that include them. Most changes leave some of a voucher's figures as they are.
create or replace function gateway.add_figures(changes gateway.figure[]) returns void
language sql
begin atomic
  select gateway.add_to_rollups(array(
    select (ancestor_id, kind, grain, gateway.period_start(grain, at), currency, state, product_id,
            sum(records), sum(initial), sum(balance), sum(paid))::gateway.figure_rollup
    from (
      select owner_id, kind, at, currency, state, product_id, sum(records) as records, sum(initial) as initial,
             sum(balance) as balance, sum(paid) as paid
      from unnest(changes) change
      group by owner_id, kind, at, currency, state, product_id
      having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0
    ) difference
    join gateway.kind_grain using (kind) join gateway.figure_member on tenant_id = owner_id
    group by ancestor_id, kind, grain, gateway.period_start(grain, at), currency, state, product_id));
end;
