-- Removals are exact: a record that leaves a list is filed there, under the id that it had there, whatever made it leave.
-- The service reports a removal only while the record is absent from that list (src/domain/removal.ts), so that no
-- stamps need to be compared. Changes that concern records which the transaction may not see are refused outside
-- READ COMMITTED.

alter table gateway.removal drop constraint removal_reason_check,
  add check (reason in ('deleted', 'moved', 'consent_withdrawn'));
comment on column gateway.removal.tenant_id is
  'The tenant whose list it left; of a tenant, each one that was above it, or itself where there was none; of all tenants that are truncated, the one above';

-- A record that goes over to another tenant, or goes on under another id, has left the list where it was.
create or replace function gateway.note_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  values (tg_argv[0], old.tenant_id, old.id, 'moved');
  return null;
end $$;

drop trigger note_moved on public.product;
drop trigger note_moved on public.purchased_voucher;
drop trigger note_moved on public.customer;
create trigger note_moved after update on public.product
  for each row when ((old.tenant_id, old.id) is distinct from (new.tenant_id, new.id))
  execute function gateway.note_moved('catalog_voucher');
create trigger note_moved after update on public.purchased_voucher
  for each row when ((old.tenant_id, old.id) is distinct from (new.tenant_id, new.id))
  execute function gateway.note_moved('purchased_voucher');
create trigger note_moved after update on public.customer
  for each row when (old.marketing_opted and new.marketing_opted
                     and (old.tenant_id, old.id) is distinct from (new.tenant_id, new.id))
  execute function gateway.note_moved('marketing_signup');
alter table public.product enable always trigger note_moved;
alter table public.purchased_voucher enable always trigger note_moved;
alter table public.customer enable always trigger note_moved;

-- REPEATABLE READ and SERIALIZABLE see the database as it was when the transaction began. A change that concerns other
-- records (the products in a category, the tenants below one, all rows of a table that is truncated) would miss those
-- that were committed since.
create function gateway.refuse_old_snapshot() returns trigger
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception '% of table % needs READ COMMITTED: the snapshot of a % transaction lacks records that it concerns',
      tg_argv[0], tg_table_name, upper(current_setting('transaction_isolation'))
      using errcode = 'active_sql_transaction',
            hint = 'Repeat it in a transaction that begins with: begin isolation level read committed.';
  end if;
  return null;
end $$;

create trigger refuse_old_snapshot after update on public.category
  for each row when (old.* is distinct from new.* and not gateway.keeps_updated_at())
  execute function gateway.refuse_old_snapshot('A change');
create trigger refuse_old_snapshot after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.refuse_old_snapshot('A move');

do $$
declare
  name text;
begin
  foreach name in array array['tenant', 'product', 'purchased_voucher', 'customer', 'variant', 'product_category']
  loop
    execute format($trigger$
      create trigger a_refuse_old_snapshot before truncate on public.%I
      for each statement execute function gateway.refuse_old_snapshot('A truncation')$trigger$, name);
    -- In an applier, too, where the rows that are truncated have to be recorded.
    if name not in ('variant', 'product_category') then
      execute format('alter table public.%I enable always trigger a_refuse_old_snapshot', name);
    end if;
  end loop;
end $$;

-- The tree of tenants. These walk it by its indexes: a session keeps the plans that it made while the table was small,
-- and they would read all of it at each step when it has grown.

create function gateway.tenants_above(lowest bigint) returns setof bigint
language plpgsql stable set enable_seqscan = off
as $$
declare
  above bigint := lowest;
  path bigint[] := '{}';
begin
  while above is not null and above <> all(path) loop
    path := path || above;
    return next above;
    select parent_id into above from public.tenant where id = above;
  end loop;
end $$;
comment on function gateway.tenants_above is 'A tenant and all above it, also when it is deleted already';

create function gateway.tenants_below(highest bigint) returns setof bigint
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  -- Most have none below them, and this is asked for each that is deleted.
  if exists (select from public.tenant where parent_id = highest) then
    return query
      with recursive below as (
        select id from public.tenant where parent_id = highest
        union
        select tenant.id from below join public.tenant on tenant.parent_id = below.id
      )
      select id from below;
  end if;
end $$;
comment on function gateway.tenants_below is 'All tenants below one, without itself';

-- A transaction that moves a tenant stamps all below it, and has to see all of them. So one that puts a tenant below
-- others locks each of those, from the lowest up, `for key share`, and one that moves a tenant locks it `for update`.
-- Other changes of a tenant conflict with neither. A lock is taken before the parent is read, so the path cannot change
-- any more. Appliers take no such locks (sql/0014).
create function gateway.lock_tenants_above() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  above bigint := new.parent_id;
  path bigint[] := '{}';
begin
  -- An applier is not refused a loop; one that does not concern this tenant ends the walk.
  while above is not null and above <> all(path) loop
    path := path || above;
    if above = new.id then
      raise exception 'tenant % cannot lie below itself', new.id using errcode = 'check_violation';
    end if;
    select parent_id into above from public.tenant where id = above for key share;
  end loop;
  return null;
end $$;

drop trigger a_share_above_on_insert on public.tenant;
drop trigger a_share_above_on_update on public.tenant;
drop function gateway.share_tenants_above();
drop trigger refuse_tenant_loop on public.tenant;
drop function gateway.refuse_tenant_loop();
create trigger a_lock_above_on_insert after insert on public.tenant
  for each row when (new.parent_id is not null) execute function gateway.lock_tenants_above();
create trigger a_lock_above_on_update after update on public.tenant
  for each row when (new.parent_id is not null and (old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.lock_tenants_above();

create function gateway.lock_moved_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  perform from public.tenant where id = old.id for update;
  return new;
end $$;

create trigger a_lock_moved before update on public.tenant
  for each row when (old.parent_id is distinct from new.parent_id) execute function gateway.lock_moved_tenant();

-- Stamps all tenants below one: those who are authorised for the new place have not seen them.
create function gateway.stamp_tenants_below(highest bigint) returns void
language plpgsql set enable_seqscan = off
as $$
declare
  concerned constant bigint[] := array(select gateway.tenants_below(highest));
begin
  if concerned <> '{}' then
    update public.tenant set updated_at = clock_timestamp()
    where id = any(concerned) and updated_at is distinct from gateway.stamp();
  end if;
end $$;

-- A tenant that goes elsewhere takes all below it along. All of them leave each tenant that is no longer above them:
-- each of those files them, since any of them may be the highest for which a token is authorised, and the lower ones
-- may be gone when they are asked.
create or replace function gateway.note_tenant_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  select 'tenant', former.above, departed.id, 'moved'
  from (
    select gateway.tenants_above(old.parent_id) as above
    except
    select gateway.tenants_above(new.parent_id) where new.id = old.id
  ) former
  cross join (select old.id union select gateway.tenants_below(old.id) union select gateway.tenants_below(new.id)) departed;
  perform gateway.stamp_tenants_below(new.id);
  return null;
end $$;

drop trigger note_moved on public.tenant;
create trigger note_moved after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.note_tenant_moved();

-- Before it is deleted, while those above it and below it are still there: one statement may delete all of them, and an
-- applier may leave those below it.
create function gateway.note_tenant_removed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  select 'tenant', former.above, departed.id, 'deleted'
  from (select gateway.tenants_above(coalesce(old.parent_id, old.id)) as above) former
  cross join (select old.id union select gateway.tenants_below(old.id)) departed;
  return old;
end $$;

drop trigger note_removed on public.tenant;
create trigger note_removed before delete on public.tenant
  for each row execute function gateway.note_tenant_removed();
alter table public.tenant enable always trigger note_removed;

-- A tenant that is stamped anew has its stamp, as the rows of other lists: one that lies ahead is none that a loader brings.
drop trigger z_stamp_update on public.tenant;
create trigger z_stamp_update before update on public.tenant for each row
  when (gateway.bears_stamp(new.updated_at, ' tenant:* ') is not true and old.* is distinct from new.*)
  execute function gateway.stamp_tenant();
alter table public.tenant enable always trigger z_stamp_update;
