-- Computes from the records the rollup of an ancestor that includes these tenants. The function uses no index scans,
-- because the records of a tenant are on many pages.
create or replace function gateway.count_rollup(ancestor bigint, tenants bigint[]) returns setof gateway.figure_rollup
language sql stable set enable_seqscan = off set enable_indexscan = off set work_mem = '256MB'
begin atomic
  with figure as materialized (
    select kind, at, currency, state, product_id, sum(records)::bigint as records, sum(initial) as initial,
           sum(balance) as balance, sum(paid) as paid
    from gateway.record_figure where owner_id = any(tenants)
    group by 1, 2, 3, 4, 5
  )
  select ancestor, kind, grain, at, currency, state, product_id, records, initial, balance, paid
  from figure join gateway.kind_grain using (kind) where is_finest
  union all
  select ancestor, kind, grain, gateway.period_start(grain, at), currency, state, product_id,
         sum(records)::bigint, sum(initial), sum(balance), sum(paid)
  from figure join gateway.kind_grain using (kind) where not is_finest
  group by kind, grain, gateway.period_start(grain, at), currency, state, product_id;
end;
grant execute on function gateway.count_rollup to voucher_gateway;
