-- Figures: how many vouchers, amounts and consents each tenant has, kept so that a read never counts records.
--
-- Triggers of the tables append deltas: what a statement adds to the figures of a tenant, or takes away. A background job
-- folds deltas into rollups, which hold the sums. A read adds the rollups and the deltas in one statement. A delta commits
-- with its records, and one transaction moves it into the rollups: so each snapshot shows exactly the figures of the
-- records that it shows. Writers only append, so they wait neither for each other nor for the job.
--
-- Nothing here depends on the clock: whether a voucher is valid follows from its dates when figures are read.

-- The records that are there already are counted at the end. All locks first, as in 0015.
lock table public.purchased_voucher, public.customer in share row exclusive mode;

-- The vouchers that statements have added (or, with a minus, taken away) since the last fold. Several rows may have one
-- key. One row serves three kinds of figures, because it is what writers pay for.
create table gateway.voucher_delta (
  tenant_id    bigint not null,
  purchased_at timestamptz not null,
  valid_end    timestamptz not null,
  product_id   bigint not null,
  records      bigint not null,
  initial      numeric not null,
  balance      numeric not null,
  paid         numeric not null,
  currency     text not null,
  state        text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
comment on column gateway.voucher_delta.tenant_id is 'The tenant of the vouchers';
comment on column gateway.voucher_delta.purchased_at is 'The quarter hour of purchase_timestamp; -infinity: none';
comment on column gateway.voucher_delta.valid_end is 'date_valid_end, in UTC; infinity: none';
comment on column gateway.voucher_delta.product_id is 'parent_product_id, else product_id, else 0';
comment on column gateway.voucher_delta.records is 'Number of vouchers';
comment on column gateway.voucher_delta.initial is 'Sum of initial_balance';
comment on column gateway.voucher_delta.balance is 'Sum of current_balance';
comment on column gateway.voucher_delta.paid is 'Sum of purchase_value';
comment on column gateway.voucher_delta.currency is 'Empty: none';
comment on column gateway.voucher_delta.state is 'What gateway.figure_state returns';
create index voucher_delta_tenant on gateway.voucher_delta (tenant_id);

-- The same for consents to marketing, given and withdrawn.
create table gateway.consent_delta (
  tenant_id bigint not null,
  at        timestamptz not null,
  records   bigint not null,
  kind      text not null check (kind in ('consent', 'withdrawal'))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
comment on column gateway.consent_delta.at is 'The quarter hour: of consented_at, or when the customer withdrew';
comment on column gateway.consent_delta.records is 'Number of customers with consented_at, or of withdrawals';
create index consent_delta_tenant on gateway.consent_delta (tenant_id);

-- The sums of folded deltas. A row in which all sums are 0 is deleted.
create table gateway.figure_rollup (
  tenant_id        bigint not null,
  with_descendants boolean not null,
  kind             text not null,
  grain            text not null,
  at               timestamptz not null,
  currency         text not null,
  state            text not null,
  product_id       bigint not null,
  records          bigint not null,
  initial          numeric not null,
  balance          numeric not null,
  paid             numeric not null,
  primary key (tenant_id, with_descendants, kind, grain, at, currency, state, product_id)
) with (fillfactor = 80);
comment on column gateway.figure_rollup.with_descendants is
  'False: records of the tenant; true: records of all its gateway.figure_member';
comment on column gateway.figure_rollup.kind is
  'sale: vouchers by purchase; balance: vouchers by the end of their validity; product: vouchers by product; consent: customers by consent; withdrawal: withdrawn consents';
comment on column gateway.figure_rollup.grain is
  'quarter_hour, hour, day, month, quarter or year: the period in UTC that begins at `at`; or all (gateway.figure_grains)';
comment on column gateway.figure_rollup.state is 'sale: void, sold or sold_without_balance; product: void or sold; balance: what gateway.figure_state returns; else empty';
comment on column gateway.figure_rollup.product_id is 'Of kind product only; else 0';
comment on column gateway.figure_rollup.records is 'Number of vouchers, customers or withdrawals';
comment on column gateway.figure_rollup.initial is 'sale, product: sum of initial_balance; else 0';
comment on column gateway.figure_rollup.balance is 'sale, balance: sum of current_balance; else 0';
comment on column gateway.figure_rollup.paid is 'sale, balance, product: sum of purchase_value; else 0';

-- Whose records the rows with_descendants of a tenant include, itself among them. The tree of tenants may have moved since
-- gateway.refresh_figure_members ran, so a read corrects the difference by the tenants' own rows.
create table gateway.figure_member (
  ancestor_id bigint not null,
  tenant_id   bigint not null,
  primary key (ancestor_id, tenant_id)
);
comment on table gateway.figure_member is 'Only of ancestors that have tenants below them';
create index figure_member_tenant on gateway.figure_member (tenant_id);

-- The tree of tenants that gateway.figure_member follows, as a sum of hashes.
create table gateway.figure_tree (
  only_row    boolean primary key default true check (only_row),
  fingerprint numeric
);
comment on column gateway.figure_tree.fingerprint is 'Null: not known';
insert into gateway.figure_tree default values;

-- Returns the start of the quarter hour that contains an instant. In all time zones of today, days begin at such a start.
-- Null: null. The origin lies before all records: releases before 15.7 and 16.3 bin a boundary before it one too early.
create function gateway.quarter_hour(instant timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('15 minutes', instant, '0001-01-01 00:00+00');

-- Returns the state of a voucher (gateway.voucher_state). That of a voucher without a balance ends with
-- `_without_balance`, unless it is void: what was paid for it is in no sum of balances.
create function gateway.figure_state(void boolean, redemption_status text, initial_balance numeric, current_balance numeric)
returns text
language sql immutable parallel safe
return gateway.voucher_state(void, redemption_status, initial_balance, current_balance)
  || case when current_balance is null and not void then '_without_balance' else '' end;

-- Returns the state of the sale of vouchers that have a state.
create function gateway.sale_state(state text) returns text
language sql immutable parallel safe
return case when state = 'void' then 'void' when state like '%without_balance' then 'sold_without_balance' else 'sold' end;

-- Returns the figures that a delta of vouchers changes. Their `at` has the finest grain of its kind.
create function gateway.voucher_figures(delta gateway.voucher_delta) returns table (
  kind text, at timestamptz, state text, product_id bigint, records bigint, initial numeric, balance numeric, paid numeric
)
language sql stable parallel safe
begin atomic
  values
    ('sale', delta.purchased_at, gateway.sale_state(delta.state), 0::bigint,
     delta.records, delta.initial, delta.balance, delta.paid),
    ('balance', delta.valid_end, delta.state, 0,
     delta.records, 0, delta.balance, delta.paid),
    ('product', date_trunc('month', delta.purchased_at, 'UTC'), case delta.state when 'void' then 'void' else 'sold' end,
     delta.product_id, delta.records, delta.initial, 0, delta.paid);
end;

-- Returns the grains of a kind of figures, and the period of each that contains an instant; the finest first.
create function gateway.figure_grains(kind text, at timestamptz) returns table (grain text, starts_at timestamptz)
language sql stable parallel safe
begin atomic
  select 'quarter_hour', at where kind in ('sale', 'consent', 'withdrawal')
  union all select 'hour', date_trunc('hour', at, 'UTC') where kind in ('sale', 'consent', 'withdrawal')
  union all select 'day', date_trunc('day', at, 'UTC') where kind in ('sale', 'consent', 'withdrawal')
  union all select 'day', at where kind = 'balance'
  union all select 'month', at where kind = 'product'
  -- A large group has thousands of products: a read of years adds few rows of each.
  union all select 'quarter', date_trunc('quarter', at, 'UTC') where kind = 'product'
  union all select 'year', date_trunc('year', at, 'UTC') where kind = 'product'
  -- A read adds this row, and takes away the years outside the period: all before 'infinity'.
  union all select 'all', '-infinity' where kind = 'product' and at < 'infinity';
end;

-- The deltas in the columns of the rollups, for reads.
create view gateway.figure_delta as
  select figure.kind, delta.tenant_id, figure.at, delta.currency, figure.state, figure.product_id,
         figure.records, figure.initial, figure.balance, figure.paid
  from gateway.voucher_delta delta, gateway.voucher_figures(delta) figure
  union all
  select kind, tenant_id, at, '', '', 0, records, 0, 0, 0 from gateway.consent_delta;

-- Returns each voucher as a delta that adds it. The body is text: a view would keep the platform from changing the type of
-- a column.
create function gateway.vouchers_as_deltas() returns setof gateway.voucher_delta
language sql stable
as $$
  select tenant_id,
         coalesce(gateway.quarter_hour(purchase_timestamp), '-infinity') as purchased_at,
         coalesce(date_valid_end::timestamp at time zone 'UTC', 'infinity') as valid_end,
         coalesce(parent_product_id, product_id, 0) as product_id,
         1::bigint as records,
         coalesce(initial_balance, 0) as initial,
         coalesce(current_balance, 0) as balance,
         coalesce(purchase_value, 0) as paid,
         coalesce(currency, '') as currency,
         gateway.figure_state(void, redemption_status, initial_balance, current_balance) as state
  from public.purchased_voucher
$$;

grant select on gateway.voucher_delta, gateway.consent_delta, gateway.figure_rollup, gateway.figure_member,
  gateway.figure_delta to voucher_gateway;

-- Writers. As with removals (0009), ordinary sessions have a trigger for a statement, and appliers one for a row. A
-- statement of a few rows appends their deltas as they are, because grouping costs more than it saves.

-- Appends the vouchers that a statement inserts, or with a minus those that it deletes.
create function gateway.append_voucher_deltas() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  sign constant integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  perform from changed offset 20 limit 1;
  if not found then
    insert into gateway.voucher_delta
    select tenant_id, coalesce(gateway.quarter_hour(purchase_timestamp), '-infinity'),
           coalesce(date_valid_end::timestamp at time zone 'UTC', 'infinity'), coalesce(parent_product_id, product_id, 0),
           sign, sign * coalesce(initial_balance, 0), sign * coalesce(current_balance, 0),
           sign * coalesce(purchase_value, 0), coalesce(currency, ''),
           gateway.figure_state(void, redemption_status, initial_balance, current_balance)
    from changed;
  else
    insert into gateway.voucher_delta
    select tenant_id, coalesce(gateway.quarter_hour(purchase_timestamp), '-infinity') as purchased_at,
           coalesce(date_valid_end::timestamp at time zone 'UTC', 'infinity') as valid_end,
           coalesce(parent_product_id, product_id, 0) as product,
           sign * count(*), sign * sum(coalesce(initial_balance, 0)), sign * sum(coalesce(current_balance, 0)),
           sign * sum(coalesce(purchase_value, 0)), coalesce(currency, '') as unit,
           gateway.figure_state(void, redemption_status, initial_balance, current_balance) as state
    from changed
    group by tenant_id, purchased_at, valid_end, product, unit, state;
  end if;
  return null;
end $$;

-- Appends what a statement changes of vouchers: the former ones with a minus, the new ones with a plus. Nothing when no
-- figure changes, as when the commit event stamps rows again.
create function gateway.append_changed_voucher_deltas() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('gateway.restamping', true) = 'on' then
    return null;
  end if;
  perform from fresh offset 1 limit 1;
  if not found then
    insert into gateway.voucher_delta
    select delta.*
    from fresh, stale, lateral (values
      (fresh.tenant_id, coalesce(gateway.quarter_hour(fresh.purchase_timestamp), '-infinity'),
       coalesce(fresh.date_valid_end::timestamp at time zone 'UTC', 'infinity'),
       coalesce(fresh.parent_product_id, fresh.product_id, 0),
       1, coalesce(fresh.initial_balance, 0), coalesce(fresh.current_balance, 0), coalesce(fresh.purchase_value, 0),
       coalesce(fresh.currency, ''),
       gateway.figure_state(fresh.void, fresh.redemption_status, fresh.initial_balance, fresh.current_balance)),
      (stale.tenant_id, coalesce(gateway.quarter_hour(stale.purchase_timestamp), '-infinity'),
       coalesce(stale.date_valid_end::timestamp at time zone 'UTC', 'infinity'),
       coalesce(stale.parent_product_id, stale.product_id, 0),
       -1, -coalesce(stale.initial_balance, 0), -coalesce(stale.current_balance, 0), -coalesce(stale.purchase_value, 0),
       coalesce(stale.currency, ''),
       gateway.figure_state(stale.void, stale.redemption_status, stale.initial_balance, stale.current_balance))
    ) delta
    where (fresh.tenant_id, fresh.purchase_timestamp, fresh.date_valid_end, fresh.parent_product_id, fresh.product_id,
           fresh.initial_balance, fresh.current_balance, fresh.purchase_value, fresh.currency, fresh.void,
           fresh.redemption_status)
      is distinct from
          (stale.tenant_id, stale.purchase_timestamp, stale.date_valid_end, stale.parent_product_id, stale.product_id,
           stale.initial_balance, stale.current_balance, stale.purchase_value, stale.currency, stale.void,
           stale.redemption_status);
  else
    insert into gateway.voucher_delta
    select tenant_id, coalesce(gateway.quarter_hour(purchase_timestamp), '-infinity') as purchased_at,
           coalesce(date_valid_end::timestamp at time zone 'UTC', 'infinity') as valid_end,
           coalesce(parent_product_id, product_id, 0) as product,
           sum(records), sum(initial), sum(balance), sum(paid), coalesce(currency, '') as unit, state
    from (
      select tenant_id, purchase_timestamp, date_valid_end, parent_product_id, product_id, currency, 1 as records,
             coalesce(initial_balance, 0) as initial, coalesce(current_balance, 0) as balance,
             coalesce(purchase_value, 0) as paid,
             gateway.figure_state(void, redemption_status, initial_balance, current_balance) as state
      from fresh
      union all
      select tenant_id, purchase_timestamp, date_valid_end, parent_product_id, product_id, currency, -1,
             -coalesce(initial_balance, 0), -coalesce(current_balance, 0), -coalesce(purchase_value, 0),
             gateway.figure_state(void, redemption_status, initial_balance, current_balance)
      from stale
    ) both_sides
    group by tenant_id, purchased_at, valid_end, product, unit, state
    having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0;
  end if;
  return null;
end $$;

-- For appliers: appends a voucher that is inserted, changed or deleted.
create function gateway.append_voucher_row_delta() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' and
    (new.tenant_id, new.purchase_timestamp, new.date_valid_end, new.parent_product_id, new.product_id, new.initial_balance,
     new.current_balance, new.purchase_value, new.currency, new.void, new.redemption_status)
    is not distinct from
    (old.tenant_id, old.purchase_timestamp, old.date_valid_end, old.parent_product_id, old.product_id, old.initial_balance,
     old.current_balance, old.purchase_value, old.currency, old.void, old.redemption_status)
  then
    return null;
  end if;
  if tg_op <> 'INSERT' then
    insert into gateway.voucher_delta values (
      old.tenant_id, coalesce(gateway.quarter_hour(old.purchase_timestamp), '-infinity'),
      coalesce(old.date_valid_end::timestamp at time zone 'UTC', 'infinity'),
      coalesce(old.parent_product_id, old.product_id, 0),
      -1, -coalesce(old.initial_balance, 0), -coalesce(old.current_balance, 0), -coalesce(old.purchase_value, 0),
      coalesce(old.currency, ''),
      gateway.figure_state(old.void, old.redemption_status, old.initial_balance, old.current_balance));
  end if;
  if tg_op <> 'DELETE' then
    insert into gateway.voucher_delta values (
      new.tenant_id, coalesce(gateway.quarter_hour(new.purchase_timestamp), '-infinity'),
      coalesce(new.date_valid_end::timestamp at time zone 'UTC', 'infinity'),
      coalesce(new.parent_product_id, new.product_id, 0),
      1, coalesce(new.initial_balance, 0), coalesce(new.current_balance, 0), coalesce(new.purchase_value, 0),
      coalesce(new.currency, ''),
      gateway.figure_state(new.void, new.redemption_status, new.initial_balance, new.current_balance));
  end if;
  return null;
end $$;

-- Takes all vouchers or customers away before a truncation, which names none of them.
create function gateway.append_truncated_deltas() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_table_name = 'purchased_voucher' then
    insert into gateway.voucher_delta
    select tenant_id, purchased_at, valid_end, product_id, -count(*), -sum(initial), -sum(balance), -sum(paid), currency, state
    from gateway.vouchers_as_deltas() group by tenant_id, purchased_at, valid_end, product_id, currency, state;
  else
    insert into gateway.consent_delta
    select tenant_id, gateway.quarter_hour(consented_at), -count(*), 'consent'
    from public.customer where consented_at is not null group by 1, 2;
  end if;
  return null;
end $$;

-- Appends the customers with consent that a statement inserts, or with a minus those that it deletes.
create function gateway.append_consent_deltas() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  sign constant integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  perform from changed offset 20 limit 1;
  if not found then
    insert into gateway.consent_delta
    select tenant_id, gateway.quarter_hour(consented_at), sign, 'consent' from changed where consented_at is not null;
  else
    insert into gateway.consent_delta
    select tenant_id, gateway.quarter_hour(consented_at), sign * count(*), 'consent'
    from changed where consented_at is not null group by 1, 2;
  end if;
  return null;
end $$;

-- Appends what one customer changes: the former consent with a minus, the new one with a plus.
create function gateway.append_consent_row_delta() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op <> 'INSERT' and old.consented_at is not null then
    insert into gateway.consent_delta values (old.tenant_id, gateway.quarter_hour(old.consented_at), -1, 'consent');
  end if;
  if tg_op <> 'DELETE' and new.consented_at is not null then
    insert into gateway.consent_delta values (new.tenant_id, gateway.quarter_hour(new.consented_at), 1, 'consent');
  end if;
  return null;
end $$;

-- Appends a withdrawal of consent, which is a removal. A removal that is stamped again after the quarter hour has ended
-- belongs to the next one. The purge of old removals takes no withdrawal away.
create function gateway.append_withdrawal_delta() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    insert into gateway.consent_delta values (old.tenant_id, gateway.quarter_hour(old.updated_at), -1, 'withdrawal');
  end if;
  insert into gateway.consent_delta values (new.tenant_id, gateway.quarter_hour(new.updated_at), 1, 'withdrawal');
  return null;
end $$;

create trigger append_deltas_on_insert after insert on public.purchased_voucher
  referencing new table as changed for each statement execute function gateway.append_voucher_deltas();
create trigger append_deltas_on_update after update on public.purchased_voucher
  referencing old table as stale new table as fresh
  for each statement execute function gateway.append_changed_voucher_deltas();
create trigger append_deltas_on_delete after delete on public.purchased_voucher
  referencing old table as changed for each statement execute function gateway.append_voucher_deltas();
create trigger append_row_delta after insert or update or delete on public.purchased_voucher
  for each row execute function gateway.append_voucher_row_delta();
create trigger append_deltas_on_truncate before truncate on public.purchased_voucher
  for each statement execute function gateway.append_truncated_deltas();
alter table public.purchased_voucher
  enable replica trigger append_row_delta, enable always trigger append_deltas_on_truncate;

create trigger append_deltas_on_insert after insert on public.customer
  referencing new table as changed for each statement execute function gateway.append_consent_deltas();
create trigger append_deltas_on_delete after delete on public.customer
  referencing old table as changed for each statement execute function gateway.append_consent_deltas();
-- A consent seldom changes, so that one trigger serves all sessions.
create trigger append_row_delta_on_update after update on public.customer for each row
  when ((old.tenant_id, old.consented_at) is distinct from (new.tenant_id, new.consented_at))
  execute function gateway.append_consent_row_delta();
create trigger append_row_delta after insert or delete on public.customer
  for each row execute function gateway.append_consent_row_delta();
create trigger append_deltas_on_truncate before truncate on public.customer
  for each statement execute function gateway.append_truncated_deltas();
alter table public.customer
  enable always trigger append_row_delta_on_update, enable replica trigger append_row_delta,
  enable always trigger append_deltas_on_truncate;

create trigger append_delta_on_insert after insert on gateway.removal for each row
  when (new.reason = 'consent_withdrawn') execute function gateway.append_withdrawal_delta();
create trigger append_delta_on_update after update on gateway.removal for each row
  when (new.reason = 'consent_withdrawn' and gateway.quarter_hour(old.updated_at) <> gateway.quarter_hour(new.updated_at))
  execute function gateway.append_withdrawal_delta();
alter table gateway.removal
  enable always trigger append_delta_on_insert, enable always trigger append_delta_on_update;

-- The rollups. One transaction at a time writes them.

-- Returns the key of the advisory lock of the transaction that writes the rollups.
create function gateway.figures_lock() returns bigint language sql immutable parallel safe return 7302155616;

-- Adds deltas to the rollups and deletes them. Writers add deltas meanwhile, and none waits for another.
--
-- at_most: how many deltas of each table.
-- Returns how many it has taken of the table that had more; 0 also while another transaction writes the rollups.
create function gateway.fold_figures(at_most integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  vouchers tid[];
  consents tid[];
begin
  if not pg_try_advisory_xact_lock(gateway.figures_lock()) then
    return 0;
  end if;
  vouchers := array(select ctid from gateway.voucher_delta limit at_most);
  consents := array(select ctid from gateway.consent_delta limit at_most);
  if vouchers = '{}' and consents = '{}' then
    return 0;
  end if;
  with taken as (
    delete from gateway.voucher_delta delta where ctid = any(vouchers) returning delta
  ), taken_consent as (
    delete from gateway.consent_delta where ctid = any(consents) returning *
  ), own as (
    select tenant_id, kind, at, currency, state, product_id,
           sum(records) as records, sum(initial) as initial, sum(balance) as balance, sum(paid) as paid
    from (
      select (delta).tenant_id, (delta).currency, figure.* from taken, gateway.voucher_figures(delta) figure
      union all
      select tenant_id, '', kind, at, '', 0, records, 0, 0, 0 from taken_consent
    ) figure
    group by 1, 2, 3, 4, 5, 6
    having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0
  ), change as (
    select holder.tenant_id, with_descendants, kind, grain, starts_at as at, currency, state, product_id,
           sum(records) as records, sum(initial) as initial, sum(balance) as balance, sum(paid) as paid
    from own, gateway.figure_grains(kind, at), lateral (
      select own.tenant_id, false as with_descendants
      union all
      select ancestor_id, true from gateway.figure_member where figure_member.tenant_id = own.tenant_id
    ) holder
    group by 1, 2, 3, 4, 5, 6, 7, 8
  )
  merge into gateway.figure_rollup rollup using change
  on rollup.tenant_id = change.tenant_id and rollup.with_descendants = change.with_descendants
    and rollup.kind = change.kind and rollup.grain = change.grain and rollup.at = change.at
    and rollup.currency = change.currency and rollup.state = change.state and rollup.product_id = change.product_id
  when matched and rollup.records + change.records = 0 and rollup.initial + change.initial = 0
    and rollup.balance + change.balance = 0 and rollup.paid + change.paid = 0 then delete
  when matched then update set
    records = rollup.records + change.records, initial = rollup.initial + change.initial,
    balance = rollup.balance + change.balance, paid = rollup.paid + change.paid
  when not matched then insert values (
    change.tenant_id, change.with_descendants, change.kind, change.grain, change.at, change.currency, change.state,
    change.product_id, change.records, change.initial, change.balance, change.paid);
  return greatest(cardinality(vouchers), cardinality(consents));
end $$;

-- Returns the pairs that gateway.figure_member lacks by the tree of tenants (sign 1), and those that it has too many (-1).
create function gateway.figure_member_differences() returns table (ancestor_id bigint, tenant_id bigint, sign integer)
language sql stable set enable_seqscan = on set enable_hashjoin = on
begin atomic
  with recursive below as (
    select parent_id as ancestor, id as tenant from public.tenant where parent_id is not null
    union
    select below.ancestor, tenant.id from below join public.tenant on tenant.parent_id = below.tenant
  ), present as (
    select ancestor as ancestor_id, tenant as tenant_id from below union select ancestor, ancestor from below
  )
  select ancestor_id, tenant_id, case when member is null then 1 else -1 end
  from present full join gateway.figure_member member using (ancestor_id, tenant_id)
  where present is null or member is null;
end;

-- Brings gateway.figure_member and the rows with_descendants up to the tree of tenants. Reads the whole tree only when it
-- has changed.
--
-- at_most: how many pairs of tenants; null for all.
-- Returns how many it has changed; 0 also while another transaction writes the rollups.
create function gateway.refresh_figure_members(at_most integer default null) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  -- Before the differences are read: a later change of the tree gives another one.
  present constant numeric := (select sum(hashint8extended(id, coalesce(parent_id, 0))) from public.tenant);
  ancestors bigint[];
  tenants bigint[];
  signs integer[];
begin
  if not pg_try_advisory_xact_lock(gateway.figures_lock())
    or exists (select from gateway.figure_tree where fingerprint is not distinct from present) then
    return 0;
  end if;
  select array_agg(ancestor_id), array_agg(tenant_id), array_agg(sign) into ancestors, tenants, signs
  from (select * from gateway.figure_member_differences() limit at_most) difference;
  if coalesce(cardinality(ancestors) < at_most, true) then
    update gateway.figure_tree set fingerprint = present;
  end if;
  with difference as (
    select * from unnest(ancestors, tenants, signs) as difference (ancestor_id, tenant_id, sign)
  ), added as (
    insert into gateway.figure_member select ancestor_id, tenant_id from difference where sign = 1
  ), removed as (
    delete from gateway.figure_member member using difference
    where sign = -1 and member.ancestor_id = difference.ancestor_id and member.tenant_id = difference.tenant_id
  ), change as (
    select ancestor_id, kind, grain, at, currency, state, product_id,
           sum(sign * records) as records, sum(sign * initial) as initial, sum(sign * balance) as balance,
           sum(sign * paid) as paid
    from difference join gateway.figure_rollup own on own.tenant_id = difference.tenant_id and not own.with_descendants
    group by 1, 2, 3, 4, 5, 6, 7
  )
  merge into gateway.figure_rollup rollup using change
  on rollup.tenant_id = change.ancestor_id and rollup.with_descendants
    and rollup.kind = change.kind and rollup.grain = change.grain and rollup.at = change.at
    and rollup.currency = change.currency and rollup.state = change.state and rollup.product_id = change.product_id
  when matched and rollup.records + change.records = 0 and rollup.initial + change.initial = 0
    and rollup.balance + change.balance = 0 and rollup.paid + change.paid = 0 then delete
  when matched then update set
    records = rollup.records + change.records, initial = rollup.initial + change.initial,
    balance = rollup.balance + change.balance, paid = rollup.paid + change.paid
  when not matched then insert values (
    change.ancestor_id, true, change.kind, change.grain, change.at, change.currency, change.state,
    change.product_id, change.records, change.initial, change.balance, change.paid);
  return coalesce(cardinality(ancestors), 0);
end $$;

-- Returns the figures of each tenant, counted from the records. A purge deletes removals, so withdrawals of former times may
-- be missing: gateway.figure_differences knows which.
create function gateway.counted_figures() returns table (
  kind text, tenant_id bigint, at timestamptz, currency text, state text, product_id bigint, records bigint,
  initial numeric, balance numeric, paid numeric
)
language sql stable
as $$
  select 'sale' as kind, tenant_id, purchased_at as at, currency, gateway.sale_state(state) as state, 0::bigint as product_id,
         count(*) as records, sum(initial) as initial, sum(balance) as balance, sum(paid) as paid
  from gateway.vouchers_as_deltas() group by 2, 3, 4, 5
  union all
  select 'balance', tenant_id, valid_end, currency, state, 0, count(*), 0, sum(balance), sum(paid)
  from gateway.vouchers_as_deltas() group by 2, 3, 4, 5
  union all
  select 'product', tenant_id, date_trunc('month', purchased_at, 'UTC'), currency,
         case state when 'void' then 'void' else 'sold' end, product_id, count(*), sum(initial), 0, sum(paid)
  from gateway.vouchers_as_deltas() group by 2, 3, 4, 5, 6
  union all
  select 'consent', tenant_id, gateway.quarter_hour(consented_at), '', '', 0, count(*), 0, 0, 0
  from public.customer where consented_at is not null group by 2, 3
  union all
  select 'withdrawal', tenant_id, gateway.quarter_hour(updated_at), '', '', 0, count(*), 0, 0, 0
  from gateway.removal where reason = 'consent_withdrawn' group by 2, 3
$$;

-- Returns the rows of gateway.figure_rollup that are not as the records and the deltas say, with the sums to be added to
-- each. One statement sees one state of the database, so it is exact while others write. Reads all records.
create function gateway.figure_differences() returns table (
  tenant_id bigint, with_descendants boolean, kind text, grain text, at timestamptz, currency text, state text,
  product_id bigint, records bigint, initial numeric, balance numeric, paid numeric
)
language sql stable
begin atomic
  with own as (
    -- The greater one counts of a withdrawal from before the last purge: its removal may be deleted.
    select tenant_id, kind, at, currency, state, product_id,
           max(records) as records, max(initial) as initial, max(balance) as balance, max(paid) as paid
    from (
      select tenant_id, kind, at, currency, state, product_id,
             sum(records) as records, sum(initial) as initial, sum(balance) as balance, sum(paid) as paid
      from (
        select tenant_id, kind, at, currency, state, product_id, records, initial, balance, paid
        from gateway.counted_figures()
        union all
        select tenant_id, kind, at, currency, state, product_id, -records, -initial, -balance, -paid
        from gateway.figure_delta
      ) counted
      group by 1, 2, 3, 4, 5, 6
      union all
      select rollup.tenant_id, rollup.kind, rollup.at, '', '', 0, rollup.records, 0, 0, 0
      from gateway.figure_rollup rollup, gateway.sync_state
      where rollup.kind = 'withdrawal' and rollup.grain = 'quarter_hour' and not rollup.with_descendants
        and rollup.at <= removals_complete_since
    ) known
    group by 1, 2, 3, 4, 5, 6
  )
  select tenant_id, with_descendants, kind, grain, at, currency, state, product_id,
         sum(records)::bigint, sum(initial), sum(balance), sum(paid)
  from (
    select holder.tenant_id, holder.with_descendants, own.kind, grains.grain, grains.starts_at as at, own.currency,
           own.state, own.product_id, own.records, own.initial, own.balance, own.paid
    from own, gateway.figure_grains(own.kind, own.at) grains, lateral (
      select own.tenant_id, false as with_descendants
      union all
      select member.ancestor_id, true from gateway.figure_member member where member.tenant_id = own.tenant_id
    ) holder
    union all
    select tenant_id, with_descendants, kind, grain, at, currency, state, product_id, -records, -initial, -balance, -paid
    from gateway.figure_rollup
  ) both_sides
  group by 1, 2, 3, 4, 5, 6, 7, 8
  having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0;
end;

-- Corrects the rollups by gateway.figure_differences, also while others write. Waits for a fold, and folds wait for it.
--
-- Returns how many rows were wrong.
create function gateway.repair_figures() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  repaired bigint;
begin
  perform pg_advisory_xact_lock(gateway.figures_lock());
  merge into gateway.figure_rollup rollup using gateway.figure_differences() change
  on rollup.tenant_id = change.tenant_id and rollup.with_descendants = change.with_descendants
    and rollup.kind = change.kind and rollup.grain = change.grain and rollup.at = change.at
    and rollup.currency = change.currency and rollup.state = change.state and rollup.product_id = change.product_id
  when matched and rollup.records + change.records = 0 and rollup.initial + change.initial = 0
    and rollup.balance + change.balance = 0 and rollup.paid + change.paid = 0 then delete
  when matched then update set
    records = rollup.records + change.records, initial = rollup.initial + change.initial,
    balance = rollup.balance + change.balance, paid = rollup.paid + change.paid
  when not matched then insert values (
    change.tenant_id, change.with_descendants, change.kind, change.grain, change.at, change.currency, change.state,
    change.product_id, change.records, change.initial, change.balance, change.paid);
  get diagnostics repaired = row_count;
  update gateway.figure_tree set fingerprint = null;
  return repaired;
end $$;

revoke execute on function gateway.fold_figures, gateway.refresh_figure_members, gateway.figure_differences,
  gateway.repair_figures from public;
grant execute on function gateway.fold_figures, gateway.refresh_figure_members, gateway.figure_differences,
  gateway.repair_figures to voucher_gateway;
revoke execute on function gateway.append_voucher_deltas, gateway.append_changed_voucher_deltas,
  gateway.append_voucher_row_delta, gateway.append_truncated_deltas, gateway.append_consent_deltas,
  gateway.append_consent_row_delta, gateway.append_withdrawal_delta from public;

-- The records that are there already. The triggers above keep others from writing until this transaction ends.
select gateway.repair_figures();
select gateway.refresh_figure_members();
-- Not while there are none: a plan that is made for an analyzed empty table reads the whole table once for each period, and
-- a connection keeps that plan while the table grows.
do $$
begin
  if exists (select from gateway.figure_rollup) then
    analyze gateway.figure_rollup, gateway.figure_member;
  end if;
end $$;
