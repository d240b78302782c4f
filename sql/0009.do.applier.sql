-- Appliers: the workers of a subscription, and sessions with `session_replication_role = replica`; and the records that
-- the service stamps after their commit.
--
-- A worker fires the row triggers, and only the statement triggers of truncate (`enable always`). They raise no errors, and
-- wait for no lock that the publisher did not take: beside a transaction that is applied while it is streamed, a lock leads to
-- a deadlock. So a worker locks no path of tenants (0005), and queues tenants like products (0006):
--   at commit, gateway.stamp_queued_at_commit stamps the records that are free, unless a worker may be of a `two_phase`
--   subscription: a prepared transaction would keep the locks;
--   after the commit, the service stamps the others: gateway.process_stamp_queue.

call gateway.lock_against_writers('public.tenant');

-- Queues a tenant that is created below another: a local transaction that moves one above it cannot see it yet. Also
-- queues a tenant that is inserted after the tenants below it.
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
alter table public.tenant enable replica trigger queue_inserted;

-- Runs the commit event before a truncation. Postgres rejects the truncation of a table with pending events in an ordinary
-- session; an applier would fail at commit.
create function gateway.finalize_stamps_before_truncate() returns trigger
language plpgsql
as $$
begin
  set constraints all immediate;
  return null;
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
  if gateway.lock_path(highest, false) is null then
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

-- At commit: stamps the unlocked records that this transaction has queued, if they are at most 1,000 entries. The entry
-- of a product is then deleted. The others stay for the service: they may concern records that cannot be seen yet. An older
-- snapshot would fail at a product that has changed since. No statement has a parameter: Postgres would plan it each time.
create function gateway.stamp_queued_at_commit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  if gateway.keeps_updated_at() or current_setting('transaction_isolation') <> 'read committed'
    or (select count(*) from (select from gateway.stamp_queue where transaction = pg_current_xact_id() limit 1001) own) > 1000
    or current_setting('session_replication_role') = 'replica' and exists (
      select from pg_subscription
      where subtwophasestate <> 'd' and subdbid = (select oid from pg_database where datname = current_database()))
  then
    return null;
  end if;
  with free as materialized (
    select id from public.product
    where id = any(array(
      select product_id from gateway.stamp_queue where transaction = pg_current_xact_id()
      union
      select link.product_id from gateway.stamp_queue join public.product_category link using (category_id)
      where transaction = pg_current_xact_id()))
    order by id limit 1000 for no key update skip locked
  ), stamped as (
    update public.product set updated_at = clock_timestamp()
    where id = any(array(select id from free)) and updated_at is distinct from gateway.transaction_stamp()
  )
  delete from gateway.stamp_queue
  where transaction = pg_current_xact_id() and product_id = any(array(select id from free));
  perform gateway.try_stamp_tenants(tenant_id)
  from gateway.stamp_queue where transaction = pg_current_xact_id() and tenant_id is not null;
  return null;
end $$;

-- The condition queues the event once for a transaction.
create constraint trigger stamp_queued_at_commit after insert on gateway.stamp_queue
  deferrable initially deferred for each row
  when (case when current_setting('gateway.queue_event', true) = 'queued' then false
             else set_config('gateway.queue_event', 'queued', true) = 'queued' end)
  execute function gateway.stamp_queued_at_commit();
alter table gateway.stamp_queue enable always trigger stamp_queued_at_commit;

-- Stamps queued records, oldest first, at most 1,000 entries in a call. Waits for no lock: an entry whose records are
-- locked stays for the next pass. Takes the locks of a session that creates a tenant, in the same order (0005).
--
-- after: the id after which the pass goes on; 0 at its start.
-- Returns the id for the next call, or null at the end of the pass.
create function gateway.process_stamp_queue(after bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  entries constant bigint[] := array(
    select id from gateway.stamp_queue where id > after order by id limit 1000 for update skip locked);
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

  stamped := array(select id from public.product
                   where id = any(array(select product_id from gateway.stamp_queue where id = any(entries)))
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
  where id = any(entries) and product_id is not null
    and (product_id = any(stamped) or not exists (select from public.product where product.id = stamp_queue.product_id));
  return (select max(id) from unnest(entries) as id);
end $$;

revoke all on function gateway.process_stamp_queue from public;
grant execute on function gateway.process_stamp_queue to voucher_gateway;
