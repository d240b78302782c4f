-- Figures: how many vouchers, amounts and consents tenants have, kept so that a read never counts many records.
--
-- The figures of a small tenant are counted from its records. Rollups hold the sums of records of each tenant with all
-- tenants below it, and of each large tenant; steps keep them (0008). Nothing here depends on the clock: a read compares dates with
-- today.

-- sale: vouchers by purchase. balance: vouchers by the end of their validity. product: vouchers by product and purchase.
-- consent, withdrawal: customers by their consent, and withdrawn consents.
create type gateway.figure_kind as enum ('sale', 'balance', 'product', 'consent', 'withdrawal');

create type gateway.figure_grain as enum ('half_hour', 'three_hours', 'day', 'month', 'quarter', 'year', 'all');

-- A row in which all sums are 0 is deleted. A page has room for another version of most of its rows, which then needs no entry
-- of the index: a step after a bulk commit changes nearly all rows of some pages.
create table gateway.figure_rollup (
  ancestor_id bigint not null,               -- The sums are of the tenants in its gateway.figure_member.
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
  'The tenants whose records a rollup includes. A tenant with others below it has a rollup of all of them; one with many vouchers, of itself';
create index figure_member_tenant on gateway.figure_member (tenant_id);

create table gateway.voucher_count (
  tenant_id bigint primary key,
  vouchers  bigint not null
);
comment on table gateway.voucher_count is 'How many vouchers a tenant has: many make it a large tenant';
grant select on gateway.figure_rollup, gateway.figure_member, gateway.voucher_count to voucher_gateway;

-- An addition to the figures of a tenant, or to a rollup. `at` begins a period of the finest grain of the kind.
create type gateway.figure as (
  owner_id bigint, kind gateway.figure_kind, at timestamptz, currency text, state text, product_id bigint,
  records bigint, initial numeric, balance numeric, paid numeric
);
