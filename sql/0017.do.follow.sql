-- The follower: a background job of the service that keeps the entries (0015) and the figures (0016).
--
-- It is a client of the lists (0003): it reads the watermark, and then, under one later snapshot, the records of all tenants
-- that are stamped since its former watermark, and the removals. It compares them with their entries, which then match the
-- records at one instant. After an event that requires a full pass (0008), and after a request (gateway.fill_request), a step
-- compares all records.
--
-- Records whose stamp is planned ahead (gateway.planned_stamp) are read when they can be seen, and again when it has passed.

create table gateway.follower (
  only_row   boolean primary key default true check (only_row),
  epoch      bigint,      -- Of gateway.sync_state when all records were last compared; null: no entries were written.
  since      timestamptz, -- From which stamp on records are read next.
  as_of      timestamptz, -- Of which entries and figures are; null: they are written for the first time.
  written_to bigint,      -- The id of vouchers and customers up to which the first entries are written; null: all are.
  planned    timestamptz[] not null default '{}' -- Stamps ahead of the clock whose records were read already.
);
comment on table gateway.follower is 'Exactly one row: how far the entries and the figures follow the records';
insert into gateway.follower default values;
grant select on gateway.follower to voucher_gateway;

-- Writes the first entries in the order of their ids, up to `at_most` of each kind; then creates one index at a time, and
-- writes the rollups before theirs, which is the last. Changes since the beginning are followed afterwards.
--
-- Returns whether there was work to do.
create function gateway.write_first_entries(reached gateway.follower, watermark timestamptz, at_most integer) returns boolean
language plpgsql set maintenance_work_mem = '256MB'
as $$
declare
  command text;
  index_name text;
  owner bigint;
  last_id bigint;
begin
  if reached.epoch is null then
    truncate gateway.voucher_entry, gateway.voucher_text, gateway.consent_entry, gateway.entry_count,
      gateway.figure_rollup, gateway.figure_member;
    for command in select format('drop index if exists gateway.%I', name) from gateway.entry_indexes() loop
      execute command;
    end loop;
    delete from gateway.fill_request;
    update gateway.follower
    set epoch = sync_state.epoch, since = watermark, planned = '{}', written_to = 0
    from gateway.sync_state;
    return true;
  elsif reached.written_to is not null then
    select least((select max(id) from (select id from public.purchased_voucher
                                       where id > reached.written_to order by id limit at_most) part),
                 (select max(id) from (select id from public.customer
                                       where id > reached.written_to order by id limit at_most) part)) into last_id;
    if last_id is null then
      insert into gateway.withdrawal_entry
      select id, tenant_id, updated_at from gateway.removal where reason = 'consent_withdrawn' on conflict do nothing;
      insert into gateway.entry_count select tenant_id, count(*) from gateway.voucher_entry group by tenant_id;
      insert into gateway.figure_member
      select ancestor_id, unnest(lacking)
      from gateway.figure_member_differences(array(select member from gateway.tree_members() member));
    else
      insert into gateway.voucher_entry
      select entry.* from public.purchased_voucher voucher, gateway.entry_of(voucher) entry
      where voucher.id > reached.written_to and voucher.id <= last_id;
      insert into gateway.voucher_text
      select text.* from public.purchased_voucher voucher, gateway.text_of(voucher) text
      where voucher.id > reached.written_to and voucher.id <= last_id;
      insert into gateway.consent_entry
      select entry.* from public.customer, gateway.entry_of(customer) entry
      where customer.id > reached.written_to and customer.id <= last_id;
    end if;
    update gateway.follower set written_to = last_id;
    return true;
  end if;
  select name, definition into index_name, command
  from gateway.entry_indexes() with ordinality as entry_index (name, definition, place)
  where to_regclass('gateway.' || name) is null order by place limit 1;
  if index_name is null then
    return false;
  end if;
  if index_name = 'figure_rollup_key' then
    -- In the order of the key: a read then finds the rows of a range on few pages.
    for owner in select distinct ancestor_id from gateway.figure_member order by 1 loop
      insert into gateway.figure_rollup select * from gateway.recount_rollup(owner) order by 1, 2, 3, 4, 5, 6, 7;
    end loop;
  end if;
  execute command;
  return true;
end $$;

-- Returns the records that were stamped or removed since the last step, and the removals of withdrawn consents.
create function gateway.changed_records(reached gateway.follower, watermark timestamptz) returns table (kind text, id bigint)
language sql stable set enable_seqscan = off
begin atomic
  select changed.kind, changed.id from (
    select 'voucher' as kind, voucher.id, voucher.updated_at from public.purchased_voucher voucher
    where voucher.updated_at >= reached.since
    union all
    select 'customer', customer.id, customer.updated_at from public.customer where customer.updated_at >= reached.since
    union all
    select 'tenant', tenant.id, tenant.updated_at from public.tenant where tenant.updated_at >= reached.since
    union all
    select what.kind, what.id, removal.updated_at
    from gateway.removal cross join lateral (
      select case resource when 'purchased_voucher' then 'voucher' when 'tenant' then 'tenant' else 'customer' end as kind,
             record_id as id
      where resource in ('purchased_voucher', 'marketing_signup', 'customer', 'tenant')
      union all
      select 'withdrawal', removal.id where reason = 'consent_withdrawn'
    ) what
    where removal.updated_at >= reached.since
  ) changed
  where changed.updated_at < watermark or changed.updated_at <> all(reached.planned);
end;

-- Returns the records that differ from their entries, with their stamps; null: the record is absent. Reads all records.
create function gateway.differing_records()
returns table (kind text, tenant_id bigint, id bigint, updated_at timestamptz)
language sql stable
as $$
  select 'voucher', coalesce(present.tenant_id, stale.tenant_id, stale_text.tenant_id), id, present.updated_at
  from (select voucher.id, voucher.tenant_id, voucher.updated_at, fresh, fresh_text
        from public.purchased_voucher voucher, gateway.entry_of(voucher) fresh, gateway.text_of(voucher) fresh_text) present
  full join gateway.voucher_entry stale using (id) full join gateway.voucher_text stale_text using (id)
  where fresh is distinct from stale or fresh_text is distinct from stale_text
  union all
  select 'customer', coalesce(present.tenant_id, stale.tenant_id), id, present.updated_at
  from (select customer.id, customer.tenant_id, customer.updated_at, fresh
        from public.customer left join lateral gateway.entry_of(customer) fresh on true) present
  full join gateway.consent_entry stale using (id)
  where fresh is distinct from stale
  union all
  -- A removal never changes. The condition on the stamp lets the step use the index of removals.
  select 'withdrawal', removal.tenant_id, removal.id, removal.updated_at from gateway.removal
  where reason = 'consent_withdrawn' and updated_at > '-infinity'
    and not exists (select from gateway.withdrawal_entry entry where entry.id = removal.id)
$$;

-- Updates the entries of the records that have changed, and the rollups, in parts of up to `at_most` records of a kind. One
-- query reads all these records and the tree of tenants: the figures are then those of one instant.
--
-- fills: whether all records are compared with their entries.
-- Returns false when it sees changes of a transaction that requires a fill, which has to be found first.
create function gateway.follow_records(reached gateway.follower, watermark timestamptz, fills boolean, at_most integer)
returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  -- A cursor holds one part at a time; a loop over a query would read the next fifty ahead.
  parts cursor for
    with followed as (
      select * from gateway.changed_records(reached, watermark)
      union
      select kind, id from gateway.differing_records() where fills
      union
      select 'tenant', null where fills
    )
    select kind, ids,
           case kind when 'voucher' then array(
             select entry from public.purchased_voucher voucher, gateway.entry_of(voucher) entry where voucher.id = any(ids)
           ) end as vouchers,
           case kind when 'voucher' then array(
             select text from public.purchased_voucher voucher, gateway.text_of(voucher) text where voucher.id = any(ids)
           ) end as texts,
           case kind when 'customer' then array(
             select entry from public.customer, gateway.entry_of(customer) entry where customer.id = any(ids)
           ) end as consents,
           case kind when 'withdrawal' then array(
             -- No index of removals begins with the id.
             select (id, tenant_id, updated_at)::gateway.withdrawal_entry from gateway.removal
             where updated_at >= case when fills then '-infinity' else reached.since end and id = any(ids)
           ) end as withdrawals,
           case kind when 'tenant' then array(select member from gateway.tree_members() member) end as tree,
           exists (select from gateway.fill_request) as fill_is_requested
    from (
      select kind, array_agg(id) as ids
      from (select kind, id, (row_number() over (partition by kind order by id) - 1) / at_most as place from followed) numbered
      group by kind, place
    ) part;
  fresh_vouchers gateway.voucher_entry[];
  stale_vouchers gateway.voucher_entry[];
  fresh_consents gateway.consent_entry[];
  stale_consents gateway.consent_entry[];
  withdrawals gateway.withdrawal_entry[];
  tree gateway.figure_member[];
  crosses boolean;
  any_crosses boolean := false;
begin
  for part in parts loop
    if part.fill_is_requested and not fills then
      return false;
    end if;
    tree := coalesce(part.tree, tree);

    select array_agg(fresh) filter (where fresh.id is not null), array_agg(stale) filter (where stale.id is not null)
    into fresh_vouchers, stale_vouchers
    from unnest(part.vouchers) fresh
    full join (select * from gateway.voucher_entry where part.kind = 'voucher' and id = any(part.ids)) stale using (id)
    where fresh is distinct from stale;
    delete from gateway.voucher_entry where id = any(array(select id from unnest(stale_vouchers)));
    -- In the order of the indexes, which begin with the tenant: that takes half of the time.
    insert into gateway.voucher_entry select * from unnest(fresh_vouchers) order by tenant_id, id;

    delete from gateway.voucher_text text
    where part.kind = 'voucher' and id = any(part.ids)
      and not exists (select from unnest(part.texts) fresh where fresh = text);
    insert into gateway.voucher_text select * from unnest(part.texts) on conflict do nothing;

    select array_agg(fresh) filter (where fresh.id is not null), array_agg(stale) filter (where stale.id is not null)
    into fresh_consents, stale_consents
    from unnest(part.consents) fresh
    full join (select * from gateway.consent_entry where part.kind = 'customer' and id = any(part.ids)) stale using (id)
    where fresh is distinct from stale;
    delete from gateway.consent_entry where id = any(array(select id from unnest(stale_consents)));
    insert into gateway.consent_entry select * from unnest(fresh_consents);

    with written as (
      insert into gateway.withdrawal_entry select * from unnest(part.withdrawals) on conflict do nothing
      returning withdrawal_entry
    )
    select array_agg(withdrawal_entry) into withdrawals from written;

    with change as (
      select tenant_id, sum(sign) as added
      from (select tenant_id, 1 as sign from unnest(fresh_vouchers)
            union all select tenant_id, -1 from unnest(stale_vouchers)) entry
      group by tenant_id having sum(sign) <> 0
    ), counted as (
      insert into gateway.entry_count select * from change
      on conflict (tenant_id) do update set vouchers = entry_count.vouchers + excluded.vouchers
      returning tenant_id, vouchers
    )
    select exists (select from counted join change using (tenant_id)
                   where (vouchers > gateway.most_counted()) <> (vouchers - added > gateway.most_counted())) into crosses;
    any_crosses := any_crosses or crosses;

    perform gateway.add_figures(array(
      select (ancestor_id, kind, at, currency, state, product_id, records, initial, balance, paid)::gateway.figure
      from (
        -- Most changes leave some of a voucher's figures as they are.
        select owner_id, kind, at, currency, state, product_id, sum(records) as records, sum(initial) as initial,
               sum(balance) as balance, sum(paid) as paid
        from (
          select figure.* from unnest(fresh_vouchers) entry, gateway.figures_of(entry, 1) figure
          union all select figure.* from unnest(stale_vouchers) entry, gateway.figures_of(entry, -1) figure
          union all
          select figure.* from unnest(fresh_consents), gateway.event_figures(tenant_id, 'consent', consented_at, 1) figure
          union all
          select figure.* from unnest(stale_consents), gateway.event_figures(tenant_id, 'consent', consented_at, -1) figure
          union all
          select figure.* from unnest(withdrawals), gateway.event_figures(tenant_id, 'withdrawal', withdrawn_at, 1) figure
        ) change
        group by owner_id, kind, at, currency, state, product_id
        having sum(records) <> 0 or sum(initial) <> 0 or sum(balance) <> 0 or sum(paid) <> 0
      ) difference
      join gateway.figure_member on tenant_id = owner_id));
  end loop;
  if tree is not null or any_crosses then
    perform gateway.follow_tree(tree);
  end if;
  return true;
end $$;

-- Makes one step: writes a part of the first entries, or follows what has changed. One transaction at a time does so.
--
-- at_most: how many records of each kind a part has.
-- Returns whether there is more to do at once; null while another transaction makes a step.
create function gateway.follow(at_most integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set work_mem = '256MB'
as $$
declare
  reached gateway.follower;
  watermark timestamptz;
  present_epoch bigint;
  fills boolean;
  planned_stamps timestamptz[];
begin
  if not pg_try_advisory_xact_lock(gateway.follower_lock()) then
    return null;
  end if;
  watermark := gateway.watermark();
  select * into reached from gateway.follower;
  if reached.as_of is null and gateway.write_first_entries(reached, watermark, at_most) then
    return true;
  end if;
  loop
    -- Requests are deleted before the records are read, so that the records include the changes that a request is about.
    delete from gateway.fill_request;
    fills := found;
    select epoch into present_epoch from gateway.sync_state;
    -- A clock that has stepped back gives stamps behind the former watermark.
    fills := fills or reached.epoch <> present_epoch
      or reached.since > gateway.from_microseconds(gateway.clock_microseconds());
    -- Read before the records, too: all records with such a stamp can be seen then.
    planned_stamps := array(select distinct stamp from gateway.planned_stamp where stamp >= watermark);
    exit when gateway.follow_records(reached, watermark, fills, at_most);
  end loop;
  update gateway.follower
  set epoch = present_epoch, since = watermark, as_of = watermark, planned = planned_stamps;
  return false;
end $$;

-- Returns whether the entries are not all written yet, or all records have to be compared with them.
create function gateway.awaits_fill() returns boolean
language sql stable
begin atomic
  select as_of is null or epoch <> (select epoch from gateway.sync_state) or exists (select from gateway.fill_request)
  from gateway.follower;
end;

-- Returns the entries that differ from the records. It omits records that were written since the last step, and returns
-- no row while gateway.awaits_fill. Reads all records.
create function gateway.entry_differences() returns table (kind text, tenant_id bigint, id bigint)
language sql stable
as $$
  with reached as materialized (
    select * from gateway.follower where not gateway.awaits_fill()
  )
  select case kind when 'customer' then 'consent' else kind end, tenant_id, id
  from reached, gateway.differing_records() differing
  where differing.updated_at < as_of
     or differing.updated_at is null and not exists (
       select from gateway.changed_records(reached, 'infinity') changed where (changed.kind, changed.id) = (differing.kind, differing.id))
$$;

-- Returns the ancestors whose gateway.figure_member differ from the tree of tenants and from the large tenants, once for each
-- tenant. It returns no row when a tenant has changed since the last step, and while gateway.awaits_fill.
create function gateway.member_differences() returns table (ancestor_id bigint)
language sql stable
as $$
  select ancestor_id
  from gateway.figure_member_differences(array(select member from gateway.tree_members() member)), unnest(lacking || surplus)
  where not gateway.awaits_fill() and not exists (
    select from gateway.follower reached, gateway.changed_records(reached, 'infinity') changed where changed.kind = 'tenant')
$$;

-- Makes the follower rebuild all entries and rollups. There are no figures until this is done. The tables are
-- emptied by its next step, which waits for the reads that began before this commit.
create function gateway.recount_figures() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(gateway.follower_lock());
  update gateway.follower set epoch = null, as_of = null;
end $$;

revoke execute on function gateway.write_first_entries, gateway.changed_records, gateway.differing_records,
  gateway.follow_records, gateway.follow, gateway.entry_differences, gateway.member_differences, gateway.recount_figures
  from public;
grant execute on function gateway.changed_records, gateway.differing_records, gateway.follow, gateway.entry_differences,
  gateway.member_differences, gateway.recount_figures to voucher_gateway;
