-- Returns the rows of gateway.figure_rollup that do not match the records, with the sums to add to each. The result is
-- exact even while steps run, because one statement sees one state of the database.
create or replace function gateway.figure_differences() returns setof gateway.figure_rollup
language sql stable
begin atomic
  select ancestor_id, kind, grain, at, currency, state, product_id,
         sum(records)::bigint, sum(initial), sum(balance), sum(paid)
  from (
    select recount.*
    from (select ancestor_id, array_agg(tenant_id) as tenants from gateway.figure_member group by 1) ancestor,
         gateway.count_rollup(ancestor_id, tenants) recount
    union all
    select ancestor_id, kind, grain, at, currency, state, product_id, -records, -initial, -balance, -paid
    from gateway.figure_rollup
  ) both_sides
  group by 1, 2, 3, 4, 5, 6, 7
  having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0;
end;
grant execute on function gateway.figure_differences to voucher_gateway;
