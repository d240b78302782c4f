-- Removals: which records left a list, so that copies can follow.
--
-- A record that leaves a list is recorded under the tenant and the id that it had there, whatever made it leave. The
-- service reports a removal only while the record is absent from that list (src/domain/sync/removal.ts), so stamps of removals
-- and records need not be compared.

create type gateway.removal_reason as enum ('deleted', 'moved', 'consent_withdrawn');

create table gateway.removal (
  id         bigint generated always as identity,
  resource   text not null,
  tenant_id  bigint not null,
  record_id  bigint not null,
  reason     gateway.removal_reason not null,
  updated_at timestamptz not null,
  -- The order of the list, for tokens that may read the removals of some resources only. One index is what a deletion
  -- can bear.
  primary key (tenant_id, resource, updated_at, id)
);
comment on table gateway.removal is 'No personal data: only which record left, when and why';
comment on column gateway.removal.resource is 'tenant, or the resource of a list (gateway.list)';
comment on column gateway.removal.updated_at is 'When the record left: gateway.removal_stamp, so that no removal is missed';
comment on column gateway.removal.tenant_id is
  'The tenant whose list the record left. For a tenant: each tenant that was above it, or itself if there was none; for a truncation of all tenants, the one above';
-- For the follower (0017), which reads those of all tenants.
create index removal_changes on gateway.removal using brin (updated_at) with (pages_per_range = 4, autosummarize = on);
grant select on gateway.removal to voucher_gateway;

-- Returns the stamp of a removal from a list of a tenant, as of a change. What inserts a removal calls it for each row: a
-- trigger and a condition of the event below would make the deletion of one row a fifth slower.
create function gateway.removal_stamp(owner bigint) returns timestamptz
language sql volatile
return gateway.list_stamp('removal', owner::text);

-- Each removal queues the commit event.
create constraint trigger z_finalize_stamps after insert on gateway.removal deferrable initially deferred
  for each row execute function gateway.finalize_stamps();
alter table gateway.removal enable always trigger z_finalize_stamps;

-- Records that a row has left its list. Takes the resource and the reason.
create function gateway.record_removal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  values (tg_argv[0], old.tenant_id, old.id, tg_argv[1]::gateway.removal_reason, gateway.removal_stamp(old.tenant_id));
  return null;
end $$;

call gateway.lock_against_writers('public.tenant', 'public.customer');

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
    insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
    select tg_argv[0], tenant_id, id, 'deleted', gateway.removal_stamp(tenant_id) from gone;
  else
    execute format('insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
                    select %L, tenant_id, id, ''deleted'', gateway.removal_stamp(tenant_id) from gone where %s',
                   tg_argv[0], tg_argv[1]);
  end if;
  return null;
end $$;

-- Records all rows before a truncation, which names none of them. Takes the same as gateway.record_deleted.
create function gateway.record_truncated() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_table_name = 'tenant' then
    insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
    select 'tenant', owner, id, 'deleted', gateway.removal_stamp(owner) from public.tenant, coalesce(parent_id, id) owner;
  else
    execute format('insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
                    select %L, tenant_id, id, ''deleted'', gateway.removal_stamp(tenant_id) from %s where %s',
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
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  select 'tenant', former.ancestor, departed.id, 'deleted', gateway.removal_stamp(former.ancestor)
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
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  select 'tenant', former.ancestor, departed.id, 'moved', gateway.removal_stamp(former.ancestor)
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
