-- Figures: how many vouchers, amounts and consents tenants have, kept so that a read never counts the platform's records.
--
-- The figures of a small tenant are counted from its entries (0015).
-- Rollups hold the sums of entries for each tenant with those below it, and for each large tenant. The transaction that
-- changes entries appends the differences as deltas, and deltas are folded into the rollups. A read adds both: so each
-- snapshot shows exactly the figures of the entries that it shows.
--
-- Nothing here depends on the clock: whether a voucher is valid follows from its dates when figures are read.

-- A row in which all sums are 0 is deleted.
create table gateway.figure_rollup (
  ancestor_id bigint not null,
  kind        text not null,
  grain       text not null,
  at          timestamptz not null,
  currency    text not null,
  state       text not null,
  product_id  bigint not null,
  records     bigint not null,
  initial     numeric not null,
  balance     numeric not null,
  paid        numeric not null,
  primary key (ancestor_id, kind, grain, at, currency, state, product_id)
) with (fillfactor = 80);
comment on column gateway.figure_rollup.ancestor_id is 'The sums are those of its gateway.figure_member';
comment on column gateway.figure_rollup.kind is
  'sale: vouchers by purchase; balance: vouchers by the end of their validity; product: vouchers by product; consent: customers by consent; withdrawal: withdrawn consents';
comment on column gateway.figure_rollup.grain is
  'half_hour, day, month, quarter or year: the period in UTC that begins at `at`; or all (gateway.figure_grains)';
comment on column gateway.figure_rollup.at is
  'sale, product: of purchase_timestamp, -infinity: none; balance: date_valid_end in UTC, infinity: none';
comment on column gateway.figure_rollup.currency is 'Empty: none';
comment on column gateway.figure_rollup.state is 'sale: void, sold or sold_without_balance; product: void or sold; balance: what gateway.figure_state returns; else empty';
comment on column gateway.figure_rollup.product_id is 'Of kind product only; 0: none';
comment on column gateway.figure_rollup.records is 'Number of vouchers, customers or withdrawals';
comment on column gateway.figure_rollup.initial is 'sale, product: sum of initial_balance; else 0';
comment on column gateway.figure_rollup.balance is 'sale, balance: sum of current_balance; else 0';
comment on column gateway.figure_rollup.paid is 'sale, balance, product: sum of purchase_value; else 0';

-- Whose records a rollup includes. The tree of tenants may have moved since gateway.refresh_figure_members ran, so a read
-- corrects the difference by the entries of the tenants.
create table gateway.figure_member (
  ancestor_id bigint not null,
  tenant_id   bigint not null,
  primary key (ancestor_id, tenant_id)
);
comment on table gateway.figure_member is
  'A tenant that has others below it, with these and itself; and a tenant with many vouchers, with itself';
create index figure_member_tenant on gateway.figure_member (tenant_id);

create table gateway.entry_count (
  tenant_id bigint primary key,
  vouchers  bigint not null
);
comment on table gateway.entry_count is 'How many gateway.voucher_entry a tenant has: many make it a large tenant';

-- The tree of tenants and the large tenants that gateway.figure_member follows, as a sum of hashes.
create table gateway.figure_tree (
  only_row    boolean primary key default true check (only_row),
  fingerprint numeric
);
comment on column gateway.figure_tree.fingerprint is 'Null: not known';
insert into gateway.figure_tree default values;


-- Returns the start of the half hour that contains an instant. In most time zones of today, days begin at such a start.
-- Null: null. The origin lies before all records: releases before 15.7 and 16.3 bin a boundary before it one too early.
create function gateway.half_hour(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('30 minutes', instant, '0001-01-01 00:00+00');

-- Returns the state of a voucher for figures. That of a voucher without a balance ends with `_without_balance`, unless it is
-- void: what was paid for it is in no sum of balances.
--
-- state: what gateway.voucher_state returns.
create function gateway.figure_state(state text, current_balance numeric) returns text
language sql immutable parallel safe
return state || case when current_balance is null and state <> 'void' then '_without_balance' else '' end;

-- Returns the state of the sale of vouchers that have a state for figures.
create function gateway.sale_state(state text) returns text
language sql immutable parallel safe
return case when state = 'void' then 'void' when state like '%without_balance' then 'sold_without_balance' else 'sold' end;

-- Returns the grains of a kind of figures, and the period of each that contains an instant; the finest first.
create function gateway.figure_grains(kind text, at timestamptz) returns table (grain text, starts_at timestamptz)
language sql stable parallel safe
begin atomic
  select 'half_hour', at where kind in ('sale', 'consent', 'withdrawal')
  union all select 'day', date_trunc('day', at, 'UTC') where kind in ('sale', 'consent', 'withdrawal')
  union all select 'day', at where kind = 'balance'
  union all select 'month', at where kind = 'product'
  -- A large group has thousands of products: a read of years adds few rows of each.
  union all select 'quarter', date_trunc('quarter', at, 'UTC') where kind = 'product'
  union all select 'year', date_trunc('year', at, 'UTC') where kind = 'product'
  -- A read adds this row, and takes away the years outside the period: all before 'infinity'.
  union all select 'all', '-infinity' where kind = 'product' and at < 'infinity';
end;

-- What is to be added to the rollups that include a tenant. `at` has the finest grain of its kind.
create table gateway.figure_delta (
  tenant_id  bigint not null,
  kind       text not null,
  at         timestamptz not null,
  currency   text not null,
  state      text not null,
  product_id bigint not null,
  records    bigint not null,
  initial    numeric not null,
  balance    numeric not null,
  paid       numeric not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index figure_delta_tenant on gateway.figure_delta (tenant_id, kind);

grant select on gateway.figure_rollup, gateway.figure_member, gateway.figure_delta to voucher_gateway;

-- Returns what an entry adds to the figures of its tenant; nothing for null.
--
-- sign: 1, or -1 for what it takes away.
create function gateway.figures_of(entry gateway.voucher_entry, sign integer) returns setof gateway.figure_delta
language sql stable parallel safe
begin atomic
  select entry.tenant_id, figure.kind, figure.at, coalesce(entry.currency, ''), figure.state, figure.product_id,
         sign, sign * figure.initial, sign * figure.balance, sign * coalesce(entry.purchase_value, 0)
  from (select coalesce(gateway.half_hour(entry.purchase_timestamp), '-infinity') as purchased_at,
               gateway.figure_state(entry.state, entry.current_balance) as state,
               coalesce(entry.initial_balance, 0) as initial, coalesce(entry.current_balance, 0) as balance) own,
       lateral (values
         ('sale', own.purchased_at, gateway.sale_state(own.state), 0::bigint, own.initial, own.balance),
         ('balance', entry.date_valid_end::timestamp at time zone 'UTC', own.state, 0, 0, own.balance),
         ('product', date_trunc('month', own.purchased_at, 'UTC'), case own.state when 'void' then 'void' else 'sold' end,
          coalesce(entry.product_id, 0), own.initial, 0)) figure (kind, at, state, product_id, initial, balance)
  where entry.id is not null;
end;

create function gateway.figures_of(entry gateway.consent_entry, sign integer) returns setof gateway.figure_delta
language sql stable parallel safe
begin atomic
  select entry.tenant_id, 'consent', gateway.half_hour(entry.consented_at), '', '', 0, sign, 0, 0, 0
  where entry.consented_at is not null;
end;

create function gateway.figures_of(entry gateway.withdrawal_entry, sign integer) returns setof gateway.figure_delta
language sql stable parallel safe
begin atomic
  select entry.tenant_id, 'withdrawal', gateway.half_hour(entry.withdrawn_at), '', '', 0, sign, 0, 0, 0;
end;

-- Returns what the entries of tenants add to the figures, not grouped.
create function gateway.figures_of_tenants(tenants bigint[], sign integer) returns setof gateway.figure_delta
language sql stable parallel safe
begin atomic
  select figure.* from gateway.voucher_entry entry, gateway.figures_of(entry, sign) figure
  where entry.tenant_id = any(tenants)
  union all
  select figure.* from gateway.consent_entry entry, gateway.figures_of(entry, sign) figure
  where entry.tenant_id = any(tenants)
  union all
  select figure.* from gateway.withdrawal_entry entry, gateway.figures_of(entry, sign) figure
  where entry.tenant_id = any(tenants);
end;

-- The rollups. One transaction at a time writes them.

-- Returns the key of the advisory lock of the transaction that writes entries and rollups.
create function gateway.follower_lock() returns bigint language sql immutable parallel safe return 7302155616;

-- Adds changes to the rollup of a tenant, or of all that include the tenants of the changes.
--
-- changes: with the finest grain of each kind. ancestor: whose rollup it is; null: of all.
create function gateway.add_figures(changes gateway.figure_delta[], ancestor bigint) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  with own as (
    select tenant_id, kind, at, currency, state, product_id,
           sum(records) as records, sum(initial) as initial, sum(balance) as balance, sum(paid) as paid
    from unnest(changes) group by 1, 2, 3, 4, 5, 6
    having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0
  ), change as (
    select ancestor_id, kind, grain, starts_at as at, currency, state, product_id,
           sum(records) as records, sum(initial) as initial, sum(balance) as balance, sum(paid) as paid
    from own, gateway.figure_grains(kind, at), lateral (
      select ancestor as ancestor_id where ancestor is not null
      union all
      select ancestor_id from gateway.figure_member member where ancestor is null and member.tenant_id = own.tenant_id
    ) holder
    group by 1, 2, 3, 4, 5, 6, 7
  )
  merge into gateway.figure_rollup rollup using change
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
    change.records, change.initial, change.balance, change.paid);
end $$;

-- Folds deltas into the rollups. Returns how many.
create function gateway.fold_figures(at_most integer) returns integer
language plpgsql set enable_seqscan = off
as $$
declare
  deltas gateway.figure_delta[];
begin
  with taken as (
    delete from gateway.figure_delta where ctid = any(array(select ctid from gateway.figure_delta limit at_most))
    returning figure_delta
  )
  select array_agg(figure_delta) into deltas from taken;
  if deltas is null then
    return 0;
  end if;
  perform gateway.add_figures(deltas, null);
  return cardinality(deltas);
end $$;

-- Returns how many vouchers of a tenant a read counts: one with more has a rollup.
create function gateway.most_counted() returns integer language sql immutable parallel safe return 20000;

-- Returns the pairs that gateway.figure_member lacks (sign 1), and those that it has too many (-1).
create function gateway.figure_member_differences() returns table (ancestor_id bigint, tenant_id bigint, sign integer)
language sql stable
begin atomic
  with recursive below as (
    select parent_id as ancestor, id as tenant from public.tenant where parent_id is not null
    union
    select below.ancestor, tenant.id from below join public.tenant on tenant.parent_id = below.tenant
  ), present as (
    select ancestor as ancestor_id, tenant as tenant_id from below union select ancestor, ancestor from below
    union
    select tenant_id, tenant_id from gateway.entry_count where vouchers > gateway.most_counted()
  )
  select ancestor_id, tenant_id, case when member is null then 1 else -1 end
  from present full join gateway.figure_member member using (ancestor_id, tenant_id)
  where present is null or member is null;
end;

-- Brings gateway.figure_member and the rollups up to the tree of tenants and to the large tenants, when all deltas are folded.
-- Works for a second.
--
-- at_most: how many pairs of tenants.
-- Returns whether there are more.
create function gateway.refresh_figure_members(at_most integer) returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  deadline constant timestamptz := clock_timestamp() + interval '1 second';
  -- Before the differences are read: a later change of the tree gives another one.
  present constant numeric := (
    select coalesce(sum(hash), 0) from (
      select hashint8extended(id, coalesce(parent_id, 0)) from public.tenant
      union all
      select hashint8extended(tenant_id, -1) from gateway.entry_count where vouchers > gateway.most_counted()
    ) part (hash));
  pair record;
  changed integer := 0;
begin
  if exists (select from gateway.figure_tree where fingerprint = present) then
    return false;
  elsif exists (select from gateway.figure_delta) then
    return true;
  end if;
  for pair in select * from gateway.figure_member_differences() loop
    if changed = at_most or clock_timestamp() > deadline then
      return true;
    end if;
    if pair.sign = 1 then
      insert into gateway.figure_member values (pair.ancestor_id, pair.tenant_id);
    else
      delete from gateway.figure_member where (ancestor_id, tenant_id) = (pair.ancestor_id, pair.tenant_id);
    end if;
    perform gateway.add_figures(array(select figure from gateway.figures_of_tenants(array[pair.tenant_id], pair.sign) figure),
                                pair.ancestor_id);
    changed := changed + 1;
  end loop;
  update gateway.figure_tree set fingerprint = present;
  return false;
end $$;

-- Returns the rows of gateway.figure_rollup that are not as the entries and the deltas say, with the sums to be added to each.
-- One statement sees one state of the database, so it is exact while the follower works. Reads all entries.
create function gateway.figure_differences() returns setof gateway.figure_rollup
language sql stable
begin atomic
  with figure as (
    select tenant_id, kind, at, currency, state, product_id, sum(records) as records, sum(initial) as initial,
           sum(balance) as balance, sum(paid) as paid
    from (
      select * from gateway.figures_of_tenants(array(select distinct tenant_id from gateway.figure_member), 1)
      union all
      select tenant_id, kind, at, currency, state, product_id, -records, -initial, -balance, -paid from gateway.figure_delta
    ) folded
    group by 1, 2, 3, 4, 5, 6
  )
  select ancestor_id, kind, grain, at, currency, state, product_id,
         sum(records)::bigint, sum(initial), sum(balance), sum(paid)
  from (
    select member.ancestor_id, figure.kind, grains.grain, grains.starts_at as at, figure.currency, figure.state,
           figure.product_id, figure.records, figure.initial, figure.balance, figure.paid
    from figure join gateway.figure_member member using (tenant_id), gateway.figure_grains(figure.kind, figure.at) grains
    union all
    select ancestor_id, kind, grain, at, currency, state, product_id, -records, -initial, -balance, -paid
    from gateway.figure_rollup
  ) both_sides
  group by 1, 2, 3, 4, 5, 6, 7
  having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0;
end;

revoke execute on function gateway.add_figures, gateway.fold_figures, gateway.refresh_figure_members,
  gateway.figure_differences from public;
grant execute on function gateway.figure_differences to voucher_gateway;
