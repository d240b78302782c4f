-- Figures: how many vouchers, amounts and consents tenants have, kept so that a read never counts many records.
--
-- The figures of a small tenant are counted from its records. Rollups hold the sums of records for each tenant with those
-- below it, and for each large tenant; steps keep them (0008). Nothing here depends on the clock: a read compares dates with
-- today.

-- sale: vouchers by purchase. balance: vouchers by the end of their validity. product: vouchers by product and purchase.
-- consent, withdrawal: customers by their consent, and withdrawn consents.
create type gateway.figure_kind as enum ('sale', 'balance', 'product', 'consent', 'withdrawal');
create type gateway.figure_grain as enum ('half_hour', 'three_hours', 'day', 'month', 'quarter', 'year', 'all');

-- A row in which all sums are 0 is deleted. A page has room for another version of most of its rows, which then needs no entry
-- of the index: a step after a bulk commit changes nearly all rows of some pages.
create table gateway.figure_rollup (
  ancestor_id bigint not null,               -- The sums are those of its gateway.figure_member.
  kind        gateway.figure_kind not null,
  grain       gateway.figure_grain not null, -- The period in UTC that begins at `at`; or all (gateway.kind_grain).
  at          timestamptz not null,          -- Of the purchase, -infinity: none; balance: of ends_on, infinity: none.
  currency    text not null,                 -- Empty: none.
  state       text not null,                 -- sale: gateway.sale_state; product: void or sold; balance: gateway.figure_state.
  product_id  bigint not null,               -- Of kind product only; 0: none.
  records     bigint not null,               -- Number of vouchers, customers or withdrawals.
  initial     numeric not null,              -- sale, product: sum of initial_balance; else 0.
  balance     numeric not null,              -- sale, balance: sum of current_balance; else 0.
  paid        numeric not null               -- sale, balance, product: sum of purchase_value; else 0.
) with (fillfactor = 55);

create table gateway.figure_member (
  ancestor_id bigint not null,
  tenant_id   bigint not null,
  primary key (ancestor_id, tenant_id)
);
comment on table gateway.figure_member is
  'Whose records a rollup includes: those of a tenant that has others below it, and of these; those of a tenant with many vouchers';
create index figure_member_tenant on gateway.figure_member (tenant_id);

create table gateway.voucher_count (
  tenant_id bigint primary key,
  vouchers  bigint not null
);
comment on table gateway.voucher_count is 'How many vouchers a tenant has: many make it a large tenant';

grant select on gateway.figure_rollup, gateway.figure_member, gateway.voucher_count to voucher_gateway;

-- Returns the start of the half hour that contains an instant. In most time zones of today, days begin at such a start.
-- Null: null. The origin lies before all records: releases before 15.7 and 16.3 put a boundary before the origin into
-- the interval before.
create function gateway.half_hour(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('30 minutes', instant, '0001-01-01 00:00+00');

-- Does the same for three hours, so that a day that begins at another hour than in UTC has few parts.
create function gateway.three_hours(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('3 hours', instant, '0001-01-01 00:00+00');

-- Returns the state of a voucher for figures. The state of a voucher without a balance ends with `_without_balance`,
-- unless it is void: no sum of balances includes its payment.
--
-- state: what gateway.voucher_state returns.
create function gateway.figure_state(state text, current_balance numeric) returns text
language sql immutable parallel safe
return state || case when current_balance is null and state <> 'void' then '_without_balance' else '' end;

-- Returns the state of the sale of vouchers that have a state for figures.
create function gateway.sale_state(state text) returns text
language sql immutable parallel safe
return case when state = 'void' then 'void' when state like '%without_balance' then 'sold_without_balance' else 'sold' end;

-- The grains of each kind of figures.
create view gateway.kind_grain (kind, grain, is_finest) as values
  ('sale'::gateway.figure_kind, 'half_hour'::gateway.figure_grain, true), ('sale', 'three_hours', false), ('sale', 'day', false),
  ('consent', 'half_hour', true), ('consent', 'three_hours', false), ('consent', 'day', false),
  ('withdrawal', 'half_hour', true), ('withdrawal', 'three_hours', false), ('withdrawal', 'day', false),
  ('balance', 'day', true),
  -- A large group has thousands of products: a read of years adds few rows of each.
  ('product', 'month', true), ('product', 'quarter', false), ('product', 'year', false),
  -- A read adds this row, and subtracts the years outside the period.
  ('product', 'all', false);

-- Returns the start of the period of a grain that contains an instant.
create function gateway.period_start(grain gateway.figure_grain, at timestamptz) returns timestamptz
language sql immutable parallel safe
return case grain
  when 'half_hour' then gateway.half_hour(at)
  when 'three_hours' then gateway.three_hours(at)
  when 'day' then date_bin('1 day', at, '0001-01-01 00:00+00')
  when 'month' then date_trunc('month', at at time zone 'UTC') at time zone 'UTC'
  when 'quarter' then date_trunc('quarter', at at time zone 'UTC') at time zone 'UTC'
  when 'year' then date_trunc('year', at at time zone 'UTC') at time zone 'UTC'
  when 'all' then '-infinity'
end;

-- An addition to the figures of a tenant, or to a rollup. `at` begins a period of the finest grain of the kind.
create type gateway.figure as (
  owner_id bigint, kind gateway.figure_kind, at timestamptz, currency text, state text, product_id bigint,
  records bigint, initial numeric, balance numeric, paid numeric
);

-- Returns the additions of a voucher to the figures of its tenant.
--
-- sign: 1, or -1 for what it takes away.
create function gateway.figures_of(voucher gateway.voucher, sign integer) returns setof gateway.figure
language sql stable parallel safe
begin atomic
  select voucher.tenant_id, kind,
         case kind when 'balance' then voucher.ends_on::timestamp at time zone 'UTC'
                   when 'sale' then coalesce(gateway.half_hour(voucher.purchase_timestamp), '-infinity')
                   else coalesce(date_trunc('month', voucher.purchase_timestamp, 'UTC'), '-infinity') end,
         coalesce(voucher.currency, ''),
         case kind when 'balance' then gateway.figure_state(voucher.state, voucher.current_balance)
                   when 'sale' then gateway.sale_state(gateway.figure_state(voucher.state, voucher.current_balance))
                   when 'product' then case voucher.state when 'void' then 'void' else 'sold' end end,
         case kind when 'product' then coalesce(voucher.sold_product_id, 0) else 0 end, sign,
         case when kind <> 'balance' then sign * coalesce(voucher.initial_balance, 0) else 0 end,
         case when kind <> 'product' then sign * coalesce(voucher.current_balance, 0) else 0 end,
         sign * coalesce(voucher.purchase_value, 0)
  from unnest(array['sale', 'balance', 'product']::gateway.figure_kind[]) kind;
end;

-- Does the same for a consent or a withdrawal of a tenant's customer; no addition without an instant.
create function gateway.event_figures(tenant_id bigint, kind gateway.figure_kind, instant timestamptz, sign integer)
returns setof gateway.figure
language sql stable parallel safe
begin atomic
  select tenant_id, kind, gateway.half_hour(instant), '', '', 0, sign, 0, 0, 0 where instant is not null;
end;

create view gateway.record_figure as
select figure.* from gateway.voucher, gateway.figures_of(voucher, 1) figure
union all select figure.* from gateway.customer, gateway.event_figures(tenant_id, 'consent', consented_at, 1) figure
union all
select figure.* from gateway.consent_withdrawal, gateway.event_figures(tenant_id, 'withdrawal', withdrawn_at, 1) figure;
grant select on gateway.kind_grain, gateway.record_figure to voucher_gateway;

-- Adds sums to rows of rollups, in the order of the index: sums that lie side by side are read and written one after the other.
create function gateway.add_to_rollups(changes gateway.figure_rollup[]) returns void
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

-- Adds changes of tenants to the rollups that include them. Most changes leave some of a voucher's figures as they are.
create function gateway.add_figures(changes gateway.figure[]) returns void
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

-- Returns the most vouchers of a tenant that a read counts: a tenant with more vouchers has a rollup.
create function gateway.most_counted() returns integer language sql immutable parallel safe return 20000;

-- Returns each tenant that has others below it as an ancestor: with itself, and with each tenant below it.
create function gateway.tree_members() returns setof gateway.figure_member
language sql stable
begin atomic
  select ancestor, unnest(array[ancestor, tenant_id]) from gateway.tenant_path, unnest(path[2:]) ancestor group by 1, 2;
end;

-- Returns the tenants that are missing in gateway.figure_member, and those that must be removed from it.
--
-- tree: what gateway.tree_members returns; null: the tree has not changed.
create function gateway.figure_member_differences(tree gateway.figure_member[])
returns table (ancestor_id bigint, lacking bigint[], surplus bigint[])
language sql stable
begin atomic
  with present as (
    select ancestor_id, tenant_id from unnest(tree)
    union
    select ancestor_id, tenant_id from gateway.figure_member member
    -- A large tenant without others below it is its only member.
    where tree is null and exists (
      select from gateway.figure_member other where other.ancestor_id = member.ancestor_id and other.tenant_id <> other.ancestor_id)
    union
    select tenant_id, tenant_id from gateway.voucher_count where vouchers > gateway.most_counted()
  )
  select ancestor_id, coalesce(array_agg(tenant_id) filter (where member is null), '{}'),
         coalesce(array_agg(tenant_id) filter (where present is null), '{}')
  from present full join gateway.figure_member member using (ancestor_id, tenant_id)
  where present is null or member is null
  group by 1 order by 1;
end;

-- Returns the rollup of an ancestor that includes these tenants, from the records. Without index scans: the records of a tenant lie
-- on many pages.
create function gateway.count_rollup(ancestor bigint, tenants bigint[]) returns setof gateway.figure_rollup
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

-- Brings gateway.figure_member and the rollups up to the tree of tenants and to the large tenants.
--
-- tree: what gateway.tree_members returns; null: the tree has not changed.
create function gateway.update_members(tree gateway.figure_member[]) returns void
language plpgsql
as $$
declare
  rollup record;
begin
  for rollup in select * from gateway.figure_member_differences(tree) loop
    insert into gateway.figure_member select rollup.ancestor_id, unnest(rollup.lacking);
    delete from gateway.figure_member
    where ancestor_id = rollup.ancestor_id and tenant_id = any(rollup.surplus);
    perform gateway.add_to_rollups(array(select counted from gateway.count_rollup(rollup.ancestor_id, rollup.lacking) counted));
    perform gateway.add_to_rollups(array(
      select (ancestor_id, kind, grain, at, currency, state, product_id, -records, -initial, -balance, -paid)::gateway.figure_rollup
      from gateway.count_rollup(rollup.ancestor_id, rollup.surplus)));
  end loop;
end $$;

-- Returns the rows of gateway.figure_rollup that are not as the records say, with the sums to be added to each. One statement
-- sees one state of the database, so it is exact while steps are made.
create function gateway.figure_differences() returns setof gateway.figure_rollup
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

-- Adds the difference between former and present vouchers to the counts and the rollups.
--
-- Returns whether the set of large tenants has changed.
create function gateway.add_voucher_figures(fresh gateway.voucher[], stale gateway.voucher[]) returns boolean
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
    insert into gateway.voucher_count select * from change
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

-- Adds the difference between former and present consents, and withdrawals, to the rollups.
create function gateway.add_consent_figures(
  fresh gateway.customer[], stale gateway.customer[], withdrawals gateway.consent_withdrawal[]) returns void
language sql
begin atomic
  select gateway.add_figures(array(
    select figure from unnest(fresh) customer, gateway.event_figures(customer.tenant_id, 'consent', customer.consented_at, 1) figure
    union all
    select figure from unnest(stale) customer, gateway.event_figures(customer.tenant_id, 'consent', customer.consented_at, -1) figure
    union all
    select figure from unnest(withdrawals) event, gateway.event_figures(event.tenant_id, 'withdrawal', event.withdrawn_at, 1) figure));
end;

-- Writes the members and the rollups of the first records, in the order of the key: a read then finds the rows of a range on few
-- pages.
create function gateway.write_first_figures() returns void
language plpgsql
as $$
declare
  rollup record;
begin
  truncate gateway.voucher_count, gateway.figure_member, gateway.figure_rollup;
  insert into gateway.voucher_count select tenant_id, count(*) from gateway.voucher group by tenant_id;
  for rollup in
    select * from gateway.figure_member_differences(array(select member from gateway.tree_members() member))
  loop
    insert into gateway.figure_member select rollup.ancestor_id, unnest(rollup.lacking);
    insert into gateway.figure_rollup
    select * from gateway.count_rollup(rollup.ancestor_id, rollup.lacking) order by 1, 2, 3, 4, 5, 6, 7;
  end loop;
  create unique index figure_rollup_key on gateway.figure_rollup (ancestor_id, kind, grain, at, currency, state, product_id);
end $$;
