-- Adds sums to rows of rollups, in the order of the index, so that adjacent rows are read and written one after the
-- other.
create or replace function gateway.add_to_rollups(changes gateway.figure_rollup[]) returns void
language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
  merge into gateway.figure_rollup rollup using (select * from unnest(changes) order by 1, 2, 3, 4, 5, 6, 7) change
  on rollup.ancestor_id = change.ancestor_id and rollup.kind = change.kind and rollup.grain = change.grain
    and rollup.at = change.at and rollup.currency = change.currency and rollup.state = change.state
    and rollup.product_id = change.product_id
  when matched and rollup.records + change.records = 0 and rollup.initial + change.initial = 0
    and rollup.balance + change.balance = 0 and rollup.paid + change.paid = 0 then delete
  when matched then update set
    records = rollup.records + change.records, initial = rollup.initial + change.initial,
    balance = rollup.balance + change.balance, paid = rollup.paid + change.paid
  when not matched then insert values (
    change.ancestor_id, change.kind, change.grain, change.at, change.currency, change.state, change.product_id,
    change.records, change.initial, change.balance, change.paid)
$$;
