-- Appliers: the workers of a subscription, and sessions with `session_replication_role = replica`.
--
-- Of the triggers, a worker sets off those that run for a row, and for a statement those of truncate only. So what other
-- records show (product content, the tree of tenants) and what a statement deletes have a second set of triggers here, for
-- rows. Exactly one set runs: the first in ordinary sessions (`enable`), this one in appliers (`enable replica`).
--
-- These triggers wait for no lock that the publisher did not take for the same change, and raise no errors. A worker that
-- waits for a row of a prepared transaction waits for ever: the `commit prepared` comes later in its own stream. Beside a
-- transaction that is applied while it is streamed (`streaming = parallel`, the default from PostgreSQL 18 on), it fails
-- with a deadlock. The publisher changes two variants of one product in two transactions without waiting; if each
-- updated the product here, the second one would wait. So the triggers only queue the records that need a new stamp:
--   at commit, gateway.stamp_queued_at_commit stamps the records that are free, unless a subscription is `two_phase`: a
--   prepared transaction would keep the locks;
--   after the commit, the service stamps the others: gateway.process_stamp_queue.
--
-- A later stamp loses nothing: it is taken after the change is visible, so a client that has read the record before reads
-- it again. It needs no order among tables, either: what cannot be seen yet when a product is looked up (a product or a
-- link, which another worker copies) will be visible after the change that queues it.

create table gateway.stamp_queue (
  id          bigint generated always as identity primary key,
  transaction xid8 not null default pg_current_xact_id(),
  product_id  bigint,
  category_id bigint,
  tenant_id   bigint,
  -- One entry for a transaction, however many variants of a product it changes; and no two transactions wait.
  unique nulls not distinct (transaction, product_id, category_id, tenant_id)
);
comment on table gateway.stamp_queue is 'Records that need a new stamp because an applier changed what they show';
comment on column gateway.stamp_queue.product_id is 'Null: all products of the category; all products when that is null, too';
comment on column gateway.stamp_queue.category_id is 'Beside a product: the category to which it was linked';
comment on column gateway.stamp_queue.tenant_id is 'A tenant that needs a new stamp with all tenants below it; the other columns are then null';

-- Queues the products that show a row: the product of a variant or of a link, all products of a category, or all products
-- when a table is truncated. A new category is queued, too: its links can be there before it.
create function gateway.queue_products() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if gateway.keeps_updated_at() then
    return null;
  end if;
  if tg_op = 'TRUNCATE' then
    insert into gateway.stamp_queue (product_id) values (null) on conflict do nothing;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    if tg_table_name = 'category' then
      insert into gateway.stamp_queue (category_id) values (old.id) on conflict do nothing;
    else
      insert into gateway.stamp_queue (product_id) values (old.product_id) on conflict do nothing;
    end if;
  end if;
  if tg_op <> 'DELETE' then
    case tg_table_name
      when 'category' then
        insert into gateway.stamp_queue (category_id) values (new.id) on conflict do nothing;
      when 'product_category' then
        insert into gateway.stamp_queue (product_id, category_id) values (new.product_id, new.category_id)
          on conflict do nothing;
      else
        insert into gateway.stamp_queue (product_id) values (new.product_id) on conflict do nothing;
    end case;
  end if;
  return null;
end $$;

call gateway.lock_against_writers('public.tenant', 'public.category', 'public.product_category', 'public.variant');

create trigger queue_products_on_insert_or_delete after insert or delete on public.variant
  for each row execute function gateway.queue_products();
create trigger queue_products_on_update after update on public.variant
  for each row when (old.* is distinct from new.*) execute function gateway.queue_products();
create trigger queue_products_on_truncate after truncate on public.variant
  for each statement execute function gateway.queue_products();

create trigger queue_products_on_insert_or_delete after insert or delete on public.product_category
  for each row execute function gateway.queue_products();
create trigger queue_products_on_update after update on public.product_category
  for each row when (old.* is distinct from new.*) execute function gateway.queue_products();
create trigger queue_products_on_truncate after truncate on public.product_category
  for each statement execute function gateway.queue_products();

-- Postgres truncates categories only together with product_category, also in an applier.
create trigger queue_products_on_insert_or_delete after insert or delete on public.category
  for each row execute function gateway.queue_products();
create trigger queue_products_on_update after update on public.category
  for each row when (old.* is distinct from new.*) execute function gateway.queue_products();

-- Queues a tenant that is created below another: a local transaction that moves one above it cannot see it yet. Also one
-- that comes after the tenants below it.
create function gateway.queue_inserted_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if new.parent_id is not null or exists (select from public.tenant where parent_id = new.id) then
    insert into gateway.stamp_queue (tenant_id) values (new.id) on conflict do nothing;
  end if;
  return null;
end $$;

create trigger queue_inserted after insert on public.tenant
  for each row execute function gateway.queue_inserted_tenant();

-- Records a tenant that moves, as gateway.record_moved_tenant does, and queues it instead of stamping the tenants below
-- it. No lock keeps the path still, so it is recorded for each tenant that was above it.
create function gateway.queue_moved_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  select 'tenant', former.ancestor, departed.id, 'moved', gateway.removal_stamp(former.ancestor)
  from (select gateway.tenant_with_ancestors(old.parent_id) as ancestor) former
  cross join (select old.id union select gateway.tenant_descendants(old.id)
              union select gateway.tenant_descendants(new.id)) departed;
  insert into gateway.stamp_queue (tenant_id) values (new.id) on conflict do nothing;
  return null;
end $$;

create trigger queue_moved after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.queue_moved_tenant();

-- Runs the commit event before a truncation: rows that the transaction wrote to the table cannot be stamped again at
-- commit. Postgres rejects such a truncation in an ordinary session; an applier would fail at commit.
create function gateway.finalize_stamps_before_truncate() returns trigger
language plpgsql
as $$
begin
  set constraints all immediate;
  return null;
end $$;

create trigger b_finalize_stamps before truncate on public.tenant
  for each statement execute function gateway.finalize_stamps_before_truncate();

alter table public.tenant
  enable replica trigger queue_inserted, enable replica trigger queue_moved,
  enable replica trigger b_finalize_stamps;
alter table public.variant
  enable replica trigger queue_products_on_insert_or_delete, enable replica trigger queue_products_on_update,
  enable replica trigger queue_products_on_truncate;
alter table public.category
  enable replica trigger queue_products_on_insert_or_delete, enable replica trigger queue_products_on_update;
alter table public.product_category
  enable replica trigger queue_products_on_insert_or_delete, enable replica trigger queue_products_on_update,
  enable replica trigger queue_products_on_truncate;

-- Returns which of the categories of queued links are locked, and locks the others `for share`. A transaction that changes
-- a category locks it, and has looked for its products before the link could be seen (gateway.stamp_products): so the
-- product has to be stamped after that transaction. A category that cannot be seen yet comes with an entry of its own.
create function gateway.locked_categories(linked bigint[]) returns bigint[]
language plpgsql
as $$
declare
  free constant bigint[] := array(select id from public.category where id = any(linked) order by id for share skip locked);
begin
  return array(select id from public.category where id = any(linked) and id <> all(free));
end $$;

-- Locks a tenant and all above it against local transactions that move one of them, without waiting. Returns false when
-- one of them is being moved; the locks that are taken by then stay.
create function gateway.try_lock_path(lowest bigint) returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  ancestor bigint := lowest;
  path bigint[] := '{}';
begin
  while ancestor is not null and ancestor <> all(path) loop
    path := path || ancestor;
    select parent_id into ancestor from public.tenant where id = ancestor for key share skip locked;
    if not found and exists (select from public.tenant where id = path[cardinality(path)]) then
      return false;
    end if;
  end loop;
  return true;
end $$;

-- Stamps a tenant and all below it, if none of them is locked and none above it is being moved; otherwise none of them, so
-- that none is stamped twice. Waits for no lock. Returns whether it stamped them.
create function gateway.try_stamp_tenants(highest bigint) returns boolean
language plpgsql set enable_seqscan = off
as $$
declare
  concerned constant bigint[] := array(select highest union select gateway.tenant_descendants(highest));
  free bigint[];
begin
  if not gateway.try_lock_path(highest) then
    return false;
  end if;
  free := array(select id from public.tenant where id = any(concerned) order by id for no key update skip locked);
  if cardinality(free) < (select count(*) from public.tenant where id = any(concerned)) then
    return false;
  end if;
  update public.tenant set updated_at = clock_timestamp()
  where id = any(free) and updated_at is distinct from gateway.transaction_stamp();
  return true;
end $$;

-- At commit: stamps what this transaction has queued and what is not locked, if that is at most 1,000 entries. The entry
-- of a product is then deleted. The others stay for the service: they may concern records that cannot be seen yet.
create function gateway.stamp_queued_at_commit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  own constant bigint[] := array(
    select id from gateway.stamp_queue where transaction = pg_current_xact_id() limit 1001);
  locked bigint[];
  stamped bigint[];
begin
  if cardinality(own) > 1000 or gateway.keeps_updated_at()
    or exists (select from pg_subscription
               where subtwophasestate <> 'd' and subdbid = (select oid from pg_database where datname = current_database()))
  then
    return null;
  end if;
  locked := gateway.locked_categories(array(
    select category_id from gateway.stamp_queue where id = any(own) and product_id is not null));
  stamped := array(
    select id from public.product
    where id = any(array(
      select product_id from gateway.stamp_queue
      where id = any(own) and (category_id is null or category_id <> all(locked))
      union
      select link.product_id from gateway.stamp_queue join public.product_category link using (category_id)
      where stamp_queue.id = any(own) and stamp_queue.product_id is null))
    order by id limit 1000 for no key update skip locked);
  update public.product set updated_at = clock_timestamp()
  where id = any(stamped) and coalesce(updated_at, '-infinity') <> gateway.transaction_stamp();
  delete from gateway.stamp_queue
  where id = any(own) and product_id = any(stamped) and (category_id is null or category_id <> all(locked));
  perform gateway.try_stamp_tenants(tenant_id) from gateway.stamp_queue where id = any(own) and tenant_id is not null;
  return null;
end $$;

-- The condition queues the event once for a transaction.
create constraint trigger stamp_queued_at_commit after insert on gateway.stamp_queue
  deferrable initially deferred for each row
  when (case when current_setting('gateway.queue_event', true) = 'queued' then false
             else set_config('gateway.queue_event', 'queued', true) = 'queued' end)
  execute function gateway.stamp_queued_at_commit();
alter table gateway.stamp_queue enable replica trigger stamp_queued_at_commit;

-- Stamps queued records, oldest first, at most 1,000 entries in a call. Waits for no lock: an entry whose records are
-- locked stays for the next pass. Takes the locks of a session that links a product (gateway.check_links) or creates a
-- tenant (gateway.lock_tenant_ancestors), in the same order.
--
-- after: the id after which the pass goes on; 0 at its begin.
-- Returns the id for the next call, or null at the end of the pass.
create function gateway.process_stamp_queue(after bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  entries constant bigint[] := array(
    select id from gateway.stamp_queue where id > after order by id limit 1000 for update skip locked);
  locked bigint[];
  due bigint[];
  stamped bigint[];
begin
  if entries = '{}' then
    return null;
  end if;

  -- An entry for many products becomes one for each, which comes later in the same pass.
  with taken as (
    delete from gateway.stamp_queue where id = any(entries) and product_id is null and tenant_id is null
    returning category_id
  )
  insert into gateway.stamp_queue (product_id)
  select product_id from public.product_category
  where category_id = any(array(select category_id from taken where category_id is not null))
  union
  select id from public.product where (select exists (select from taken where category_id is null))
  on conflict do nothing;

  locked := gateway.locked_categories(array(
    select category_id from gateway.stamp_queue where id = any(entries) and category_id is not null));
  due := array(select id from gateway.stamp_queue
               where id = any(entries) and product_id is not null and (category_id is null or category_id <> all(locked)));
  stamped := array(select id from public.product
                   where id = any(array(select product_id from gateway.stamp_queue where id = any(due)))
                   order by id for no key update skip locked);
  if stamped <> '{}' or exists (select from gateway.stamp_queue where id = any(entries) and tenant_id is not null) then
    -- The watermark waits for some milliseconds; otherwise each record would be written twice.
    perform gateway.announce_bulk_write();
    update public.product set updated_at = clock_timestamp() where id = any(stamped);
    -- In the order of the tenants' ids, in which the tenants below them are locked.
    delete from gateway.stamp_queue
    where id = any(array(
      select id from (select id, tenant_id from gateway.stamp_queue
                      where id = any(entries) and tenant_id is not null order by tenant_id) queued
      where gateway.try_stamp_tenants(tenant_id)));
  end if;
  delete from gateway.stamp_queue
  where id = any(due)
    and (product_id = any(stamped) or not exists (select from public.product where product.id = stamp_queue.product_id));
  return (select max(id) from unnest(entries) as id);
end $$;

revoke all on function gateway.process_stamp_queue from public;
grant execute on function gateway.process_stamp_queue to voucher_gateway;
