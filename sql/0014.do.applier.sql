-- What a subscription brings: its apply worker sets off row triggers, and of statement triggers only those of truncate.
-- So statement triggers that record removals and move products get twins by row. Exactly one of both fires: the first in
-- ordinary sessions (`enable`), the second in appliers and wherever `session_replication_role = replica` (`enable replica`).
--
-- The twins wait for no lock that the publisher did not take for the same change, and refuse nothing. An apply worker
-- that waits for a row of a prepared transaction waits for ever: the `commit prepared` comes later in its own stream.
-- Beside a transaction that is applied while it is streamed (`streaming = parallel`, the default from PostgreSQL 18 on),
-- it fails with a deadlock. On the publisher, two transactions change two variants of one product without waiting; if
-- each updated the product here, the second would. So a twin only records what has to be moved:
--   at commit, gateway.move_at_commit moves what is free, unless a subscription is `two_phase`: a prepared transaction
--   would keep the locks;
--   after the commit, gateway.move_pending moves what is left, called by the service.
--
-- To move a record later loses nothing: it is stamped after what it shows can be seen, so a client that has read it
-- before reads it again. It needs no order among tables, either: what cannot be seen yet when a product is looked for
-- (a product, or a link, of another worker that copies its table) will be seen after the change that moves it.

create table gateway.pending_move (
  id          bigint generated always as identity primary key,
  transaction xid8 not null default pg_current_xact_id(),
  product_id  bigint,
  category_id bigint,
  tenant_id   bigint,
  -- Once for a transaction, however many variants of a product it changes; and no two transactions wait for each other.
  unique nulls not distinct (transaction, product_id, category_id, tenant_id)
);
comment on table gateway.pending_move is 'What an applier changed other records by, until those get a stamp (gateway.move_pending)';
comment on column gateway.pending_move.product_id is 'Null: all products of the category; of all categories, when that is null, too';
comment on column gateway.pending_move.category_id is 'Beside a product: the category to which it was linked';
comment on column gateway.pending_move.tenant_id is 'A tenant that has to be moved with all below it; then the others are null';

create function gateway.record_variant_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    if tg_op <> 'INSERT' then
      insert into gateway.pending_move (product_id) values (old.product_id) on conflict do nothing;
    end if;
    if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.product_id <> old.product_id then
      insert into gateway.pending_move (product_id) values (new.product_id) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

create function gateway.record_link_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    if tg_op <> 'INSERT' then
      insert into gateway.pending_move (product_id) values (old.product_id) on conflict do nothing;
    end if;
    if tg_op <> 'DELETE' then
      insert into gateway.pending_move (product_id, category_id) values (new.product_id, new.category_id)
        on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

-- Inserts, too: a link can be there before its category.
create function gateway.record_category_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    if tg_op <> 'INSERT' then
      insert into gateway.pending_move (category_id) values (old.id) on conflict do nothing;
    end if;
    if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.id <> old.id then
      insert into gateway.pending_move (category_id) values (new.id) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

create function gateway.record_all_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    insert into gateway.pending_move (product_id) values (null) on conflict do nothing;
  end if;
  return null;
end $$;

-- Takes the kind of the record.
create function gateway.note_removed_row() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  values (tg_argv[0], old.tenant_id, old.id, 'deleted');
  return null;
end $$;

-- A tenant that is made below another: a local transaction that moves one above it cannot see it yet. Or it comes after
-- those below it.
create function gateway.record_tenant_made() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if new.parent_id is not null or exists (select from public.tenant where parent_id = new.id) then
    insert into gateway.pending_move (tenant_id) values (new.id) on conflict do nothing;
  end if;
  return null;
end $$;

-- As gateway.note_tenant_moved. Nothing keeps the path from changing meanwhile, so each tenant that was above files it.
create function gateway.record_tenant_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  select 'tenant', former.above, departed.id, 'moved'
  from (select gateway.tenants_above(old.parent_id) as above) former
  cross join (select old.id union select gateway.tenants_below(old.id) union select gateway.tenants_below(new.id)) departed;
  insert into gateway.pending_move (tenant_id) values (new.id) on conflict do nothing;
  return null;
end $$;

create trigger record_made after insert on public.tenant
  for each row execute function gateway.record_tenant_made();
create trigger record_moved after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.record_tenant_moved();

-- What a transaction wrote to a table that it then truncates cannot be stamped anew at commit. An ordinary session is
-- refused that by Postgres; an applier would fail at commit.
create function gateway.settle_stamps() returns trigger
language plpgsql
as $$
begin
  set constraints all immediate;
  return null;
end $$;

create trigger a_settle_stamps before truncate on public.tenant
  for each statement execute function gateway.settle_stamps();
create trigger a_settle_stamps before truncate on public.product
  for each statement execute function gateway.settle_stamps();
create trigger a_settle_stamps before truncate on public.purchased_voucher
  for each statement execute function gateway.settle_stamps();
create trigger a_settle_stamps before truncate on public.customer
  for each statement execute function gateway.settle_stamps();

create trigger note_removed_row after delete on public.product
  for each row execute function gateway.note_removed_row('catalog_voucher');
create trigger note_removed_row after delete on public.purchased_voucher
  for each row execute function gateway.note_removed_row('purchased_voucher');
create trigger note_removed_row after delete on public.customer
  for each row when (old.marketing_opted) execute function gateway.note_removed_row('marketing_signup');

create trigger record_moves_of_row after insert or delete on public.variant
  for each row execute function gateway.record_variant_moves();
create trigger record_moves_of_changed_row after update on public.variant
  for each row when (old.* is distinct from new.*) execute function gateway.record_variant_moves();
create trigger record_moves_of_row after insert or delete on public.product_category
  for each row execute function gateway.record_link_moves();
create trigger record_moves_of_changed_row after update on public.product_category
  for each row when (old.* is distinct from new.*) execute function gateway.record_link_moves();
create trigger record_moves_of_row after insert or delete on public.category
  for each row execute function gateway.record_category_moves();
create trigger record_moves_of_changed_row after update on public.category
  for each row when (old.* is distinct from new.*) execute function gateway.record_category_moves();

create trigger record_moves_on_truncate after truncate on public.variant
  for each statement execute function gateway.record_all_moves();
create trigger record_moves_on_truncate after truncate on public.product_category
  for each statement execute function gateway.record_all_moves();
-- None of category: Postgres truncates it only together with product_category, in an applier as elsewhere.

do $$
declare
  found record;
begin
  for found in
    select tgrelid::regclass as name, tgname,
           tgname in ('note_removed_row', 'record_moves_of_row', 'record_moves_of_changed_row', 'record_moves_on_truncate',
                      'record_made', 'record_moved', 'a_settle_stamps') as of_appliers
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and relnamespace = 'public'::regnamespace
      and (tgname in ('note_removed_row', 'record_moves_of_row', 'record_moves_of_changed_row', 'record_moves_on_truncate',
                      'record_made', 'record_moved', 'a_settle_stamps',
                      'move_products', 'move_products_on_insert', 'move_products_on_update', 'move_products_on_delete',
                      'move_products_on_truncate', 'a_check_links_on_insert', 'a_check_links_on_update')
           -- A deletion of a tenant is recorded by row everywhere (sql/0013), and a move of one as above.
           or (tgname = 'note_removed' and relname <> 'tenant')
           or (tgname = 'note_moved' and relname = 'tenant'))
  loop
    execute format('alter table %s enable %s trigger %I', found.name,
                   case when found.of_appliers then 'replica' else '' end, found.tgname);
  end loop;
end $$;

-- Which of the categories of pending links cannot be locked now. A category is locked by who changes it, and had looked
-- for its products before the link could be seen (gateway.move_products_of_category): so the product has to be stamped
-- after that. A category that cannot be seen yet comes with a row of its own in gateway.pending_move.
create function gateway.locked_categories(linked bigint[]) returns bigint[]
language plpgsql
as $$
declare
  free constant bigint[] := array(select id from public.category where id = any(linked) order by id for share skip locked);
begin
  return array(select id from public.category where id = any(linked) and id <> all(free));
end $$;

-- Locks a tenant and all above it against local transactions that move one of them, without waiting. Returns false when
-- one of them is being moved: those that are locked by then stay locked.
create function gateway.lock_path(lowest bigint) returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  above bigint := lowest;
  path bigint[] := '{}';
begin
  while above is not null and above <> all(path) loop
    path := path || above;
    select parent_id into above from public.tenant where id = above for key share skip locked;
    if not found and exists (select from public.tenant where id = path[cardinality(path)]) then
      return false;
    end if;
  end loop;
  return true;
end $$;

-- Stamps a tenant and all below it, when none of them is locked and none above it is being moved; otherwise none of them,
-- so that none is stamped twice. Returns whether it did.
create function gateway.move_tenant(highest bigint) returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  concerned constant bigint[] := array(select highest union select gateway.tenants_below(highest));
  free bigint[];
begin
  if not gateway.lock_path(highest) then
    return false;
  end if;
  free := array(select id from public.tenant where id = any(concerned) order by id for no key update skip locked);
  if cardinality(free) < (select count(*) from public.tenant where id = any(concerned)) then
    return false;
  end if;
  update public.tenant set updated_at = clock_timestamp()
  where id = any(free) and updated_at is distinct from gateway.stamp();
  return true;
end $$;

-- At commit: moves what this transaction has recorded and what is not locked, as long as that is little. A product that is
-- moved for a variant or for a link is done with; what else may concern records that cannot be seen yet is left pending.
create function gateway.move_at_commit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  own constant bigint[] := array(
    select id from gateway.pending_move where transaction = pg_current_xact_id() limit 1001);
  locked bigint[];
  moved bigint[];
begin
  if cardinality(own) > 1000 or gateway.keeps_updated_at()
    or exists (select from pg_subscription
               where subtwophasestate <> 'd' and subdbid = (select oid from pg_database where datname = current_database()))
  then
    return null;
  end if;
  locked := gateway.locked_categories(array(
    select category_id from gateway.pending_move where id = any(own) and product_id is not null));
  moved := array(
    select id from public.product
    where id = any(array(
      select product_id from gateway.pending_move
      where id = any(own) and (category_id is null or category_id <> all(locked))
      union
      select link.product_id from gateway.pending_move join public.product_category link using (category_id)
      where pending_move.id = any(own) and pending_move.product_id is null))
    order by id limit 1000 for no key update skip locked);
  update public.product set updated_at = clock_timestamp()
  where id = any(moved) and coalesce(updated_at, '-infinity') <> gateway.stamp();
  delete from gateway.pending_move
  where id = any(own) and product_id = any(moved) and (category_id is null or category_id <> all(locked));
  -- The service does it again: those below that other transactions have made meanwhile cannot be seen yet.
  perform gateway.move_tenant(tenant_id) from gateway.pending_move where id = any(own) and tenant_id is not null;
  return null;
end $$;

-- One event a transaction is enough.
create constraint trigger move_at_commit after insert on gateway.pending_move
  deferrable initially deferred for each row
  when (case when current_setting('gateway.moves', true) = 'queued' then false
             else set_config('gateway.moves', 'queued', true) = 'queued' end)
  execute function gateway.move_at_commit();
alter table gateway.pending_move enable replica trigger move_at_commit;

-- After the commit: stamps what is pending, oldest first, a part at a time, and waits for nothing: what is locked is left
-- for the next pass. The locks taken here are those of a session that links (gateway.check_links) or makes a tenant
-- (gateway.lock_tenants_above), in the same order.
--
-- Returns where to go on, or null at the end.
create function gateway.move_pending(after bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  batch constant bigint[] := array(
    select id from gateway.pending_move where id > after order by id limit 1000 for update skip locked);
  locked bigint[];
  due bigint[];
  moved bigint[];
begin
  if batch = '{}' then
    return null;
  end if;

  -- Many products at a time: each gets its own row, which comes later in the same pass.
  with taken as (
    delete from gateway.pending_move where id = any(batch) and product_id is null and tenant_id is null
    returning category_id
  )
  insert into gateway.pending_move (product_id)
  select product_id from public.product_category
  where category_id = any(array(select category_id from taken where category_id is not null))
  union
  select id from public.product where (select exists (select from taken where category_id is null))
  on conflict do nothing;

  locked := gateway.locked_categories(array(
    select category_id from gateway.pending_move where id = any(batch) and category_id is not null));
  due := array(select id from gateway.pending_move
               where id = any(batch) and product_id is not null and (category_id is null or category_id <> all(locked)));
  moved := array(select id from public.product
                 where id = any(array(select product_id from gateway.pending_move where id = any(due)))
                 order by id for no key update skip locked);
  if moved <> '{}' or exists (select from gateway.pending_move where id = any(batch) and tenant_id is not null) then
    -- Some milliseconds, which the watermark can wait: otherwise each record would be written twice.
    perform gateway.hold();
    update public.product set updated_at = clock_timestamp() where id = any(moved);
    -- In the order of their ids, as the locks of those below are taken.
    delete from gateway.pending_move
    where id = any(array(
      select id from (select id, tenant_id from gateway.pending_move
                      where id = any(batch) and tenant_id is not null order by tenant_id) pending
      where gateway.move_tenant(tenant_id)));
  end if;
  delete from gateway.pending_move
  where id = any(due)
    and (product_id = any(moved) or not exists (select from public.product where product.id = pending_move.product_id));
  return (select max(id) from unnest(batch) as id);
end $$;

revoke all on function gateway.move_pending from public;
grant execute on function gateway.move_pending to voucher_gateway;
