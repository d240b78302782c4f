-- What left a list, so that a copy can follow: no personal data, only which record, when and why.
create table gateway.removal (
  id         bigint generated always as identity primary key,
  resource   text not null check (resource in ('tenant', 'catalog_voucher', 'purchased_voucher', 'marketing_signup')),
  tenant_id  bigint not null,
  record_id  bigint not null,
  reason     text not null check (reason in ('deleted', 'consent_withdrawn')),
  updated_at timestamptz not null default now()
);
comment on column gateway.removal.updated_at is 'When it was removed; stamped as a change is, so that no removal is missed';
comment on column gateway.removal.tenant_id is 'The tenant whose list it left; of a tenant, the one above it, or itself';
create index removal_list on gateway.removal (tenant_id, updated_at, id);

create function gateway.note_removed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  case tg_table_name
    when 'tenant' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'tenant', coalesce(parent_id, id), id, 'deleted' from gone;
    when 'product' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'catalog_voucher', tenant_id, id, 'deleted' from gone;
    when 'purchased_voucher' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'purchased_voucher', tenant_id, id, 'deleted' from gone;
    when 'customer' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'marketing_signup', tenant_id, id, 'deleted' from gone where marketing_opted;
  end case;
  return null;
end $$;

create trigger note_removed after delete on public.tenant
  referencing old table as gone for each statement execute function gateway.note_removed();
create trigger note_removed after delete on public.product
  referencing old table as gone for each statement execute function gateway.note_removed();
create trigger note_removed after delete on public.purchased_voucher
  referencing old table as gone for each statement execute function gateway.note_removed();
create trigger note_removed after delete on public.customer
  referencing old table as gone for each statement execute function gateway.note_removed();

-- A truncation tells no rows, so they are noted before they go.
create function gateway.note_truncated() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  case tg_table_name
    when 'tenant' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'tenant', coalesce(parent_id, id), id, 'deleted' from public.tenant;
    when 'product' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'catalog_voucher', tenant_id, id, 'deleted' from public.product;
    when 'purchased_voucher' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'purchased_voucher', tenant_id, id, 'deleted' from public.purchased_voucher;
    when 'customer' then
      insert into gateway.removal (resource, tenant_id, record_id, reason)
      select 'marketing_signup', tenant_id, id, 'deleted' from public.customer where marketing_opted;
  end case;
  return null;
end $$;

create trigger note_truncated before truncate on public.tenant
  for each statement execute function gateway.note_truncated();
create trigger note_truncated before truncate on public.product
  for each statement execute function gateway.note_truncated();
create trigger note_truncated before truncate on public.purchased_voucher
  for each statement execute function gateway.note_truncated();
create trigger note_truncated before truncate on public.customer
  for each statement execute function gateway.note_truncated();

-- A record that goes over to another tenant has left the list of the former one.
create function gateway.note_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  values (tg_argv[0], old.tenant_id, old.id, 'deleted');
  return null;
end $$;

create trigger note_moved after update on public.product
  for each row when (old.tenant_id <> new.tenant_id) execute function gateway.note_moved('catalog_voucher');
create trigger note_moved after update on public.purchased_voucher
  for each row when (old.tenant_id <> new.tenant_id) execute function gateway.note_moved('purchased_voucher');
create trigger note_moved after update on public.customer
  for each row when (old.marketing_opted and new.marketing_opted and old.tenant_id <> new.tenant_id)
  execute function gateway.note_moved('marketing_signup');

create function gateway.note_consent_withdrawn() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  values ('marketing_signup', old.tenant_id, old.id, 'consent_withdrawn');
  return null;
end $$;

create trigger note_consent_withdrawn after update on public.customer
  for each row when (old.marketing_opted and not new.marketing_opted)
  execute function gateway.note_consent_withdrawn();

-- A tenant that goes elsewhere in the tree takes all below it along: those who are granted the new place have not seen
-- them, and it has left the place where it was.
create function gateway.note_tenant_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  select 'tenant', old.parent_id, old.id, 'deleted' where old.parent_id is not null;
  update public.tenant set updated_at = clock_timestamp()
  where id in (
    with recursive below as (
      select id from public.tenant where parent_id = new.id
      union
      select tenant.id from public.tenant join below on tenant.parent_id = below.id
    )
    select id from below
  );
  return null;
end $$;

create trigger note_moved after update on public.tenant
  for each row when (old.parent_id is distinct from new.parent_id) execute function gateway.note_tenant_moved();

-- What writes a list is stamped, whoever writes and however: `always` holds for replication appliers too.
drop trigger move_updated_at on public.tenant;
drop trigger move_updated_at on public.product;
drop trigger move_updated_at on public.variant;
drop trigger move_updated_at on public.purchased_voucher;
drop trigger move_updated_at on public.customer;
drop function gateway.move_updated_at();

-- Triggers run in the order of their names: the stamp is given last.
create trigger z_stamp_insert before insert on public.tenant for each row execute function gateway.stamp_tenant();
create trigger z_stamp_insert before insert on public.product for each row execute function gateway.stamp_row();
create trigger z_stamp_insert before insert on public.purchased_voucher for each row execute function gateway.stamp_row();
create trigger z_stamp_insert before insert on public.customer for each row execute function gateway.stamp_row();
create trigger z_stamp_insert before insert on gateway.removal for each row execute function gateway.stamp_removal();

create trigger z_stamp_update before update on public.tenant for each row
  when (old.* is distinct from new.*) execute function gateway.stamp_tenant();
create trigger z_stamp_update before update on public.product for each row
  when (gateway.bears_stamp(new.updated_at, ' product:' || new.tenant_id || ' ') is not true and old.* is distinct from new.*)
  execute function gateway.stamp_row();
create trigger z_stamp_update before update on public.purchased_voucher for each row
  when (gateway.bears_stamp(new.updated_at, ' purchased_voucher:' || new.tenant_id || ' ') is not true and old.* is distinct from new.*)
  execute function gateway.stamp_row();
create trigger z_stamp_update before update on public.customer for each row
  when (gateway.bears_stamp(new.updated_at, ' customer:' || new.tenant_id || ' ') is not true and old.* is distinct from new.*)
  execute function gateway.stamp_row();
create trigger z_stamp_update before update on gateway.removal for each row
  when (old.* is distinct from new.*) execute function gateway.stamp_removal();

create trigger z_stamp_insert before insert on public.variant for each row execute function gateway.stamp_variant();
create trigger z_stamp_update before update on public.variant for each row
  when (old.* is distinct from new.*) execute function gateway.stamp_variant();

-- One deferred event a transaction is enough: the first row that asks for it claims it.
create constraint trigger z_commit_stamps after insert or update on public.tenant
  deferrable initially deferred for each row
  when (case when coalesce(current_setting('gateway.claimed', true), '') = 'on' then false
             else set_config('gateway.claimed', 'on', true) = 'on' end)
  execute function gateway.commit_stamps();
create constraint trigger z_commit_stamps after insert or update on public.product
  deferrable initially deferred for each row
  when (case when coalesce(current_setting('gateway.claimed', true), '') = 'on' then false
             else set_config('gateway.claimed', 'on', true) = 'on' end)
  execute function gateway.commit_stamps();
create constraint trigger z_commit_stamps after insert or update on public.purchased_voucher
  deferrable initially deferred for each row
  when (case when coalesce(current_setting('gateway.claimed', true), '') = 'on' then false
             else set_config('gateway.claimed', 'on', true) = 'on' end)
  execute function gateway.commit_stamps();
create constraint trigger z_commit_stamps after insert or update on public.customer
  deferrable initially deferred for each row
  when (case when coalesce(current_setting('gateway.claimed', true), '') = 'on' then false
             else set_config('gateway.claimed', 'on', true) = 'on' end)
  execute function gateway.commit_stamps();
create constraint trigger z_commit_stamps after insert or update on gateway.removal
  deferrable initially deferred for each row
  when (case when coalesce(current_setting('gateway.claimed', true), '') = 'on' then false
             else set_config('gateway.claimed', 'on', true) = 'on' end)
  execute function gateway.commit_stamps();

-- Those who write need not own what they set off.
alter function gateway.move_products_of_changed() security definer;
alter function gateway.move_products_of_changed() set search_path = pg_catalog, pg_temp;
alter function gateway.move_all_products() security definer;
alter function gateway.move_all_products() set search_path = pg_catalog, pg_temp;
alter function gateway.move_products_of_category() security definer;
alter function gateway.move_products_of_category() set search_path = pg_catalog, pg_temp;
grant usage on schema gateway to public;

do $$
declare
  found record;
begin
  for found in
    select tgrelid::regclass as name, tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and (relnamespace = 'public'::regnamespace or tgrelid = 'gateway.removal'::regclass)
  loop
    execute format('alter table %s enable always trigger %I', found.name, found.tgname);
  end loop;
end $$;
