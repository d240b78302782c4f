-- The follower: a background job of the service that keeps the entries (0015) and the figures (0016).
--
-- It is a client of the lists (0003): it reads the watermark, and then, under a snapshot that is taken after that, the
-- records of all tenants that are stamped since its former watermark, and the removals. Each of these records is compared
-- with its entry under that one snapshot, so the entries are those of the records at an instant.
--
-- A stamp may be planned ahead of the clock (gateway.planned_stamp). Its records can be seen before the stamp has passed;
-- they are read once then, and once more after the clock has passed the stamp.
--
-- A fill reads records in parts, in the order of their ids: all of a database that has no entries yet, after an event that
-- requires a full pass (0008), and after a request (gateway.fill_request); those with a later stamp than the last step when
-- more has changed than one step follows. Each part is read together with what has changed meanwhile, so only those records
-- can have a wrong entry that the fill has not reached.

create table gateway.follower (
  only_row    boolean primary key default true check (only_row),
  epoch       bigint,
  since       timestamptz,
  as_of       timestamptz,
  voucher_id  bigint,
  customer_id bigint,
  fill_since  timestamptz,
  planned     timestamptz[] not null default '{}'
);
comment on table gateway.follower is 'Exactly one row: how far the entries and the figures follow the records';
comment on column gateway.follower.epoch is 'Of gateway.sync_state at the beginning of the last fill; null: none has begun';
comment on column gateway.follower.since is 'From which stamp on records are read next; null: no step was made';
comment on column gateway.follower.as_of is 'The instant of which entries and figures are; null: not filled yet';
comment on column gateway.follower.voucher_id is 'The voucher up to which a fill has come; null: no fill is under way';
comment on column gateway.follower.customer_id is 'The same for customers';
comment on column gateway.follower.fill_since is 'The stamp from which on a fill reads records; -infinity: all; null: none has begun';
comment on column gateway.follower.planned is 'Stamps ahead of the clock whose records were read already';
insert into gateway.follower default values;
grant select on gateway.follower to voucher_gateway;

call gateway.lock_against_writers('public.customer');

-- Customers without consent are in no list, but figures count the consents that they gave. So what becomes of these customers
-- is recorded as a removal, too, of a resource that no client asks for. Also of a customer that never consented: the follower
-- may have seen a consent that another change has erased since.
create constraint trigger record_unlisted_deleted after delete on public.customer deferrable initially deferred
  for each row when (not old.marketing_opted) execute function gateway.record_removal('customer', 'deleted');
create constraint trigger record_unlisted_moved after update on public.customer deferrable initially deferred
  for each row when (not old.marketing_opted and old.id <> new.id)
  execute function gateway.record_removal('customer', 'moved');

create trigger record_unlisted_truncated before truncate on public.customer
  for each statement execute function gateway.record_truncated('customer', 'not marketing_opted');
alter table public.customer
  enable always trigger record_unlisted_deleted, enable always trigger record_unlisted_moved,
  enable always trigger record_unlisted_truncated;

-- Returns the records that a fill reads next, in the order of their ids: those that there are, and those that were there,
-- which have an entry or a removal.
--
-- at_most: how many of each kind.
create function gateway.records_to_fill(reached gateway.follower, at_most integer) returns table (resource text, id bigint)
language sql stable set enable_seqscan = off
begin atomic
  select 'purchased_voucher', next.id from (
    (select voucher.id from public.purchased_voucher voucher
     where voucher.id > reached.voucher_id and voucher.updated_at >= reached.fill_since order by 1 limit at_most)
    union
    (select entry.id from gateway.voucher_entry entry
     where reached.fill_since = '-infinity' and entry.id > reached.voucher_id order by 1 limit at_most)
    union
    (select distinct removal.record_id from gateway.removal
     where reached.fill_since > '-infinity' and removal.updated_at >= reached.fill_since
       and removal.resource = 'purchased_voucher' and removal.record_id > reached.voucher_id order by 1 limit at_most)
    order by 1 limit at_most
  ) next
  union all
  select 'customer', next.id from (
    (select customer.id from public.customer
     where customer.id > reached.customer_id and customer.updated_at >= reached.fill_since order by 1 limit at_most)
    union
    (select entry.id from gateway.consent_entry entry
     where reached.fill_since = '-infinity' and entry.id > reached.customer_id order by 1 limit at_most)
    union
    (select distinct removal.record_id from gateway.removal
     where reached.fill_since > '-infinity' and removal.updated_at >= reached.fill_since
       and removal.resource in ('marketing_signup', 'customer') and removal.record_id > reached.customer_id
     order by 1 limit at_most)
    order by 1 limit at_most
  ) next;
end;

-- Returns how many changed records one step follows. They take a second or two; the service requests a fill of all records
-- when a step takes longer than a statement may.
create function gateway.most_followed() returns integer language sql immutable parallel safe return 30000;

-- Returns the records that were stamped or removed since the last step; no more than the first one too many.
create function gateway.changed_records(reached gateway.follower, watermark timestamptz)
returns table (resource text, id bigint)
language sql stable set enable_seqscan = off
begin atomic
  select changed.resource, changed.id from (
    select 'purchased_voucher' as resource, voucher.id, voucher.updated_at from public.purchased_voucher voucher
    where voucher.updated_at >= reached.since
    union all
    select 'customer', customer.id, customer.updated_at from public.customer where customer.updated_at >= reached.since
    union all
    select case removal.resource when 'marketing_signup' then 'customer' else removal.resource end, removal.record_id,
           removal.updated_at
    from gateway.removal
    where removal.updated_at >= reached.since and removal.resource in ('purchased_voucher', 'marketing_signup', 'customer')
  ) changed
  where changed.updated_at < watermark or changed.updated_at <> all(reached.planned)
  limit gateway.most_followed() + 1;
end;

-- Brings the entries of these records, and their figures, up to the records. One statement reads all: the entries are then
-- those of one instant. Each record and its entry are looked up by their key (`offset 0`): a plan that was made for an empty
-- table would read the whole table for each of them.
--
-- Returns the greatest ids that the fill has read, null at its end; the stamps that lie ahead of the watermark; and whether
-- there were too many changes for one step, so that it has read none.
create function gateway.follow_records(
  reached gateway.follower, watermark timestamptz, at_most integer,
  out voucher_id bigint, out customer_id bigint, out planned timestamptz[], out too_many boolean
)
language plpgsql set enable_seqscan = off
as $$
begin
  with filled as materialized (
    select * from gateway.records_to_fill(reached, at_most)
  ), changed as materialized (
    select * from gateway.changed_records(reached, watermark)
  ), followed as materialized (
    select * from filled
    union
    select * from changed where (select count(*) from changed) <= gateway.most_followed()
  ), voucher_pair as materialized (
    select fresh, stale, fresh_text, stale_text
    from (select id from followed where resource = 'purchased_voucher') record
    left join lateral (select entry as fresh, text as fresh_text
                       from public.purchased_voucher voucher, gateway.entry_of(voucher) entry, gateway.text_of(voucher) text
                       where voucher.id = record.id offset 0) present on true
    left join lateral (select entry as stale from gateway.voucher_entry entry where entry.id = record.id offset 0) former
      on true
    left join lateral (select text as stale_text from gateway.voucher_text text where text.id = record.id offset 0) former_text
      on true
    where fresh is distinct from stale or fresh_text is distinct from stale_text
  ), customer_pair as materialized (
    select fresh, stale
    from (select id from followed where resource = 'customer') record
    left join lateral (select entry as fresh from public.customer, gateway.entry_of(customer) entry
                       where customer.id = record.id offset 0) present on true
    left join lateral (select entry as stale from gateway.consent_entry entry where entry.id = record.id offset 0) former
      on true
    where fresh is distinct from stale
  ), withdrawal as (
    -- A removal stays as it is: it has its entry for good.
    insert into gateway.withdrawal_entry
    select id, tenant_id, updated_at from gateway.removal
    where updated_at >= case when reached.voucher_id = 0 and reached.customer_id = 0 then reached.fill_since else reached.since end
      and reason = 'consent_withdrawn'
    on conflict do nothing
    returning withdrawal_entry
  ), deleted_vouchers as (
    delete from gateway.voucher_entry where id = any(array(select (stale).id from voucher_pair where (fresh).id is null))
  ), deleted_texts as (
    delete from gateway.voucher_text where id = any(array(select (stale_text).id from voucher_pair where (fresh).id is null))
  ), deleted_customers as (
    delete from gateway.consent_entry where id = any(array(select (stale).id from customer_pair where (fresh).id is null))
  ), written_vouchers as (
    insert into gateway.voucher_entry select (fresh).* from voucher_pair where (fresh).id is not null
    on conflict (id) do update set
      (tenant_id, updated_at, state, purchase_timestamp, date_valid_start, date_valid_end, product_id, currency,
       initial_balance, current_balance, purchase_value)
      = row (excluded.tenant_id, excluded.updated_at, excluded.state, excluded.purchase_timestamp,
             excluded.date_valid_start, excluded.date_valid_end, excluded.product_id, excluded.currency,
             excluded.initial_balance, excluded.current_balance, excluded.purchase_value)
  ), written_texts as (
    insert into gateway.voucher_text select (fresh_text).* from voucher_pair
    where (fresh).id is not null and fresh_text is distinct from stale_text
    on conflict (id) do update set
      (tenant_id, words, recipient) = row (excluded.tenant_id, excluded.words, excluded.recipient)
  ), written_customers as (
    insert into gateway.consent_entry select (fresh).* from customer_pair where (fresh).id is not null
    on conflict (id) do update set
      (tenant_id, updated_at, marketing_opted, consented_at, consent_source, name, words)
      = row (excluded.tenant_id, excluded.updated_at, excluded.marketing_opted, excluded.consented_at,
             excluded.consent_source, excluded.name, excluded.words)
  ), counted as (
    insert into gateway.entry_count
    select tenant_id, sum(sign)
    from voucher_pair, lateral (values ((fresh).tenant_id, 1), ((stale).tenant_id, -1)) change (tenant_id, sign)
    where tenant_id is not null
    group by tenant_id having sum(sign) <> 0
    on conflict (tenant_id) do update set vouchers = entry_count.vouchers + excluded.vouchers
  ), deltas as (
    insert into gateway.figure_delta
    select tenant_id, kind, at, currency, state, product_id, sum(records), sum(initial), sum(balance), sum(paid)
    from (
      select figure.* from voucher_pair, gateway.figures_of(fresh, 1) figure
      union all select figure.* from voucher_pair, gateway.figures_of(stale, -1) figure
      union all select figure.* from customer_pair, gateway.figures_of(fresh, 1) figure
      union all select figure.* from customer_pair, gateway.figures_of(stale, -1) figure
      union all select figure.* from withdrawal, gateway.figures_of(withdrawal_entry, 1) figure
    ) change
    where exists (select from gateway.figure_member member where member.tenant_id = change.tenant_id)
    group by tenant_id, kind, at, currency, state, product_id
    having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0
  )
  select (select max(id) from filled where resource = 'purchased_voucher'),
         (select max(id) from filled where resource = 'customer'),
         array(select distinct stamp from gateway.planned_stamp where stamp >= watermark),
         (select count(*) > gateway.most_followed() from changed)
  into voucher_id, customer_id, planned, too_many;
end $$;

-- Makes one step: follows what has changed, and reads the next records of a fill; then folds deltas, and follows the tree of
-- tenants. One transaction at a time does so.
--
-- at_most: how many records of each kind a step of a fill reads; it folds five times as many deltas.
-- follows_tree: whether it looks for changes of the tree of tenants, and of the tenants that are large.
-- Returns whether there is more to do at once; null while another transaction makes a step.
create function gateway.follow(at_most integer, follows_tree boolean default true) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  reached gateway.follower;
  watermark timestamptz;
  read record;
  present_epoch bigint;
  fills boolean;
  fills_all boolean;
  begins boolean;
  more boolean;
begin
  if not pg_try_advisory_xact_lock(gateway.follower_lock()) then
    return null;
  end if;
  watermark := gateway.watermark();
  select * into reached from gateway.follower;
  -- A request comes also when a step took too long: a fill of some records becomes one of all, whose steps are smaller.
  if reached.voucher_id is not null and reached.fill_since > '-infinity' and exists (select from gateway.fill_request) then
    delete from gateway.fill_request;
    reached.fill_since := '-infinity';
    reached.voucher_id := 0;
    reached.customer_id := 0;
  end if;
  select * into read from gateway.follow_records(reached, watermark, at_most);
  fills := not read.too_many and coalesce(read.voucher_id, read.customer_id) is not null;
  -- After the records are read: what a request or an epoch means may have been committed just before.
  select epoch into present_epoch from gateway.sync_state;
  fills_all := reached.epoch is distinct from present_epoch or exists (select from gateway.fill_request);
  begins := not fills and (read.too_many or fills_all);
  if begins and fills_all then
    delete from gateway.fill_request;
  end if;
  more := gateway.fold_figures(5 * at_most) = 5 * at_most;
  if not fills and not begins and (follows_tree or reached.as_of is null) then
    more := gateway.refresh_figure_members(100000) or more;
  end if;
  update gateway.follower
  set since = watermark, planned = read.planned,
      epoch = case when begins then present_epoch else reached.epoch end,
      -- A fill that begins anew reads all that it had to read.
      fill_since = case when not begins then reached.fill_since when fills_all then '-infinity'
                        when reached.voucher_id is null then reached.since else reached.fill_since end,
      voucher_id = case when begins then 0 when fills then coalesce(read.voucher_id, reached.voucher_id) end,
      customer_id = case when begins then 0 when fills then coalesce(read.customer_id, reached.customer_id) end,
      -- A fill ends with the figures of an instant. The first ones are shown when the rollups are there: without them a read
      -- would count all entries.
      as_of = case when fills or begins or (reached.as_of is null and more) then reached.as_of else watermark end;
  return more or fills or begins;
end $$;

-- Returns whether a fill is due or under way.
create function gateway.awaits_fill() returns boolean
language sql stable
begin atomic
  select voucher_id is not null or epoch is distinct from (select epoch from gateway.sync_state)
         or exists (select from gateway.fill_request)
  from gateway.follower;
end;

-- Returns the entries that are not as the records say. It says nothing of a record that was written since the last step, and
-- nothing at all while a fill is due or under way. Reads all records.
create function gateway.entry_differences() returns table (kind text, tenant_id bigint, id bigint)
language sql stable
as $$
  with reached as materialized (
    select as_of from gateway.follower where not gateway.awaits_fill()
  ), removed as materialized (
    select removal.resource, removal.record_id from reached, gateway.removal where removal.updated_at >= as_of
  )
  select 'voucher', coalesce(present.tenant_id, stale.tenant_id, stale_text.tenant_id), id
  from (select voucher.id, voucher.tenant_id, voucher.updated_at, fresh, fresh_text
        from public.purchased_voucher voucher, gateway.entry_of(voucher) fresh, gateway.text_of(voucher) fresh_text) present
  full join gateway.voucher_entry stale using (id) full join gateway.voucher_text stale_text using (id)
  where (fresh is distinct from stale or fresh_text is distinct from stale_text) and case when present.id is null
    then exists (select from reached) and id not in (select record_id from removed where resource = 'purchased_voucher')
    else present.updated_at < (select as_of from reached) end
  union all
  select 'consent', coalesce(present.tenant_id, stale.tenant_id), id
  from (select customer.id, customer.tenant_id, customer.updated_at, fresh
        from public.customer left join lateral gateway.entry_of(customer) fresh on true) present
  full join gateway.consent_entry stale using (id)
  where fresh is distinct from stale and case when present.id is null
    then exists (select from reached) and id not in (select record_id from removed where resource <> 'purchased_voucher')
    else present.updated_at < (select as_of from reached) end
  union all
  select 'withdrawal', removal.tenant_id, removal.id from reached, gateway.removal
  where reason = 'consent_withdrawn' and updated_at < as_of
    and not exists (select from gateway.withdrawal_entry entry where entry.id = removal.id)
$$;

-- Lets the follower make all entries and rollups anew. There are no figures until it has.
create function gateway.recount_figures() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(gateway.follower_lock());
  truncate gateway.figure_rollup, gateway.figure_member, gateway.figure_delta;
  update gateway.figure_tree set fingerprint = null;
  update gateway.follower set epoch = null, as_of = null, voucher_id = null, customer_id = null;
end $$;

revoke execute on function gateway.records_to_fill, gateway.changed_records, gateway.follow_records, gateway.follow,
  gateway.entry_differences, gateway.recount_figures from public;
grant execute on function gateway.follow, gateway.entry_differences, gateway.recount_figures to voucher_gateway;
