-- Removals: which records left a list, so that copies can follow.
--
-- A record that leaves a list is recorded under the tenant and the id that it had there, whatever made it leave. The
-- service reports a removal only while the record is absent from that list (src/domain/sync/removal.ts), so stamps of removals
-- and records need not be compared.

create table gateway.removal (
  id         bigint generated always as identity primary key,
  resource   text not null,
  tenant_id  bigint not null,
  record_id  bigint not null,
  reason     text not null check (reason in ('deleted', 'moved', 'consent_withdrawn')),
  updated_at timestamptz not null default now()
);
comment on table gateway.removal is 'No personal data: only which record left, when and why';
comment on column gateway.removal.resource is 'tenant, or the resource of a list (gateway.list)';
comment on column gateway.removal.updated_at is 'When the record left; stamped as a change is, so that no removal is missed';
comment on column gateway.removal.tenant_id is
  'The tenant whose list the record left. For a tenant: each tenant that was above it, or itself if there was none; for a truncation of all tenants, the one above';
create index removal_list on gateway.removal (tenant_id, updated_at, id);
-- For tokens that may read the removals of some resources only.
create index removal_of_resource on gateway.removal (tenant_id, resource, updated_at, id);
grant select on gateway.removal to voucher_gateway;

-- Stamps a removal. A loader cannot keep its stamp: the removal happens now.
create function gateway.stamp_removal() returns trigger
language plpgsql
as $$
begin
  new.updated_at := gateway.list_stamp('removal', new.tenant_id::text);
  return new;
end $$;

create trigger z_stamp_insert before insert on gateway.removal for each row execute function gateway.stamp_removal();
create trigger z_stamp_update before update on gateway.removal for each row
  when (old.* is distinct from new.*) execute function gateway.stamp_removal();
alter table gateway.removal enable always trigger z_stamp_insert, enable always trigger z_stamp_update;
call gateway.add_commit_event('gateway.removal');

-- Records that a row has left its list. Takes the resource and the reason.
create function gateway.record_removal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  values (tg_argv[0], old.tenant_id, old.id, tg_argv[1]);
  return null;
end $$;

create trigger record_consent_withdrawn after update on public.customer
  for each row when (old.marketing_opted and not new.marketing_opted)
  execute function gateway.record_removal('marketing_signup', 'consent_withdrawn');

-- Returns the condition for rows of a table that are in its list, in SQL.
create function gateway.list_condition(list_table text) returns text
language sql stable
return (select coalesce(condition, 'true') from gateway.list where name = list_table);

-- Records the rows that a statement deletes, for ordinary sessions; appliers record each row (0009). Takes the resource
-- and, for a list of some rows, its condition. Without a condition Postgres keeps the plan: a deletion of one row takes
-- half the time.
create function gateway.record_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_nargs = 1 then
    insert into gateway.removal (resource, tenant_id, record_id, reason)
    select tg_argv[0], tenant_id, id, 'deleted' from gone;
  else
    execute format('insert into gateway.removal (resource, tenant_id, record_id, reason)
                    select %L, tenant_id, id, ''deleted'' from gone where %s', tg_argv[0], tg_argv[1]);
  end if;
  return null;
end $$;

-- Records all rows before a truncation, which names none of them. Takes the same as gateway.record_deleted.
create function gateway.record_truncated() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_table_name = 'tenant' then
    insert into gateway.removal (resource, tenant_id, record_id, reason)
    select 'tenant', coalesce(parent_id, id), id, 'deleted' from public.tenant;
  else
    execute format('insert into gateway.removal (resource, tenant_id, record_id, reason)
                    select %L, tenant_id, id, ''deleted'' from %s where %s',
                   tg_argv[0], tg_relid::regclass, gateway.list_condition(tg_table_name));
  end if;
  return null;
end $$;

create trigger record_truncated before truncate on public.tenant
  for each statement execute function gateway.record_truncated();

create trigger a_require_read_committed before truncate on public.tenant
  for each statement execute function gateway.require_read_committed('A truncation');

-- Records a tenant that is deleted, and all tenants below it, which an applier may leave. Runs before the deletion, while
-- those above and below are still there: one statement may delete all of them.
create function gateway.record_deleted_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  select 'tenant', former.ancestor, departed.id, 'deleted'
  from (select gateway.tenant_with_ancestors(coalesce(old.parent_id, old.id)) as ancestor) former
  cross join (select old.id union select gateway.tenant_descendants(old.id)) departed;
  return old;
end $$;

create trigger record_deleted before delete on public.tenant
  for each row execute function gateway.record_deleted_tenant();

-- Records and stamps a tenant that moves in the tree, and all tenants below it. They leave the lists of all tenants that
-- are no longer above them: a token may be authorised for any of these, and the lower ones may be deleted when a client
-- reads. The new stamps are for tokens that are authorised for the new place and have not listed these tenants before.
create function gateway.record_moved_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  descendants bigint[];
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  select 'tenant', former.ancestor, departed.id, 'moved'
  from (
    select gateway.tenant_with_ancestors(old.parent_id) as ancestor
    except
    select gateway.tenant_with_ancestors(new.parent_id) where new.id = old.id
  ) former
  cross join (select old.id union select gateway.tenant_descendants(old.id)
              union select gateway.tenant_descendants(new.id)) departed;
  descendants := array(select gateway.tenant_descendants(new.id));
  if descendants <> '{}' then
    update public.tenant set updated_at = clock_timestamp()
    where id = any(descendants) and updated_at is distinct from gateway.transaction_stamp();
  end if;
  return null;
end $$;

create trigger record_moved after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.record_moved_tenant();

-- Appliers set off what records single rows and truncations, too. Not the deletions of a statement, nor the moves of
-- tenants, which would wait for locks: 0009 has other triggers for these.
alter table public.tenant
  enable always trigger record_deleted, enable always trigger record_truncated,
  enable always trigger a_require_read_committed;
alter table public.customer enable always trigger record_consent_withdrawn;
