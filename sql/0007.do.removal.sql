-- Removals: which records left a list, so that copies can follow.
--
-- A record that leaves a list is recorded under its former tenant and id, for every cause. The service reports a removal only
-- while the record is absent from that list (src/domain/sync/removal.ts), so stamps of removals and records are not compared.

create type gateway.removal_reason as enum ('deleted', 'moved', 'consent_withdrawn');

create table gateway.removal (
  id         bigint generated always as identity,
  resource   text not null,
  tenant_id  bigint not null,
  record_id  bigint not null,
  reason     gateway.removal_reason not null,
  updated_at timestamptz not null,
  -- The order of the list, for tokens that may read the removals of some resources only. One index only, because each
  -- deletion has to update it.
  primary key (tenant_id, resource, updated_at, id)
);
comment on table gateway.removal is 'No personal data: only which record left, when and why';
comment on column gateway.removal.resource is 'tenant, or the resource of a list (gateway.list)';
comment on column gateway.removal.updated_at is 'When the record left: the final stamp of the transaction, so that no removal is missed';
comment on column gateway.removal.tenant_id is
  'The tenant whose list the record left. For a tenant: each tenant that was above it, or itself if there was none; for a truncation of all tenants, the one above';
-- For the follower (0017), which reads the removals of all tenants.
create index removal_changes on gateway.removal using brin (updated_at) with (pages_per_range = 4, autosummarize = on);
grant select on gateway.removal to voucher_gateway;

-- Records the removal of a row from its list. Takes the resource and the reason. The triggers of lists call it at commit,
-- when it makes the stamp final: so a removal is written once, and costs one trigger. When the transaction has taken longer
-- than 5 ms, and from a hundred rows on, the stamp lies ahead of the clock by 50 µs a row.
create function gateway.record_removal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  event constant text := coalesce(current_setting('gateway.commit_event', true), '');
  stamp bigint;
  done text;
begin
  if event = '' then
    -- The rows at most: Postgres also counts those of earlier transactions.
    if clock_timestamp() < now() + interval '5 milliseconds'
      or pg_stat_get_xact_tuples_deleted(tg_relid) + pg_stat_get_xact_tuples_updated(tg_relid) < 100
    then
      -- As gateway.settle_stamps(0) does for a transaction without stamps; a call of it takes a tenth of the time of a removal.
      stamp := gateway.checked_clock();
      done := pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), stamp));
      done := set_config('gateway.stamp', greatest(stamp, gateway.clock_microseconds())::text, true)
        || set_config('gateway.commit_event', 'done', true) || set_config('gateway.touched_lists', ' ', true);
    else
      done := gateway.settle_stamps(
        50 * (pg_stat_get_xact_tuples_deleted(tg_relid) + pg_stat_get_xact_tuples_updated(tg_relid)));
    end if;
  elsif event <> 'done' then
    done := gateway.finalize();
  end if;
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  values (tg_argv[0], old.tenant_id, old.id, tg_argv[1]::gateway.removal_reason,
          gateway.from_microseconds(current_setting('gateway.stamp')::bigint));
  return null;
end $$;

-- Records all rows before a truncation, and makes the stamps final, because no event comes at commit. Takes the resource
-- and, for a list of some rows, its condition.
create function gateway.record_truncated() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  owner constant text := case tg_table_name when 'tenant' then 'coalesce(parent_id, id)' else 'tenant_id' end;
  rows bigint;
begin
  execute format('select count(*) from %s', tg_relid::regclass) into rows;
  perform gateway.settle_stamps(50 * rows);
  execute format('insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
                  select %L, %s, id, ''deleted'', gateway.transaction_stamp() from %s where %s',
                 tg_argv[0], owner, tg_relid::regclass, coalesce(tg_argv[1], 'true'));
  return null;
end $$;

call gateway.lock_against_writers('public.tenant');

-- Records a tenant that is deleted, and all tenants below it, which an applier may leave. Runs before the deletion, while
-- those above and below are still there: one statement may delete all of them.
create function gateway.record_deleted_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  select 'tenant', former.ancestor, departed.id, 'deleted', gateway.list_stamp('gateway.removal'::regclass, former.ancestor::text)
  from (select gateway.tenant_with_ancestors(coalesce(old.parent_id, old.id)) as ancestor) former
  cross join (select old.id union select gateway.tenant_descendants(old.id)) departed;
  return old;
end $$;

create trigger record_deleted before delete on public.tenant
  for each row execute function gateway.record_deleted_tenant();

-- Records and stamps a tenant that moves in the tree, and all tenants below it. They leave the lists of all tenants that
-- are no longer above them, for any of which a token may be authorised. The new stamps are for tokens of the new place.
--
-- For an applier no lock keeps the path still (0005): it records the tenant for each one that was above it, and queues the
-- stamps (0009).
create function gateway.record_moved_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  applied constant boolean := current_setting('session_replication_role') = 'replica';
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason, updated_at)
  select 'tenant', former.ancestor, departed.id, 'moved',
         gateway.list_stamp('gateway.removal'::regclass, former.ancestor::text)
  from (
    select gateway.tenant_with_ancestors(old.parent_id) as ancestor where old.parent_id is not null
    except
    select gateway.tenant_with_ancestors(new.parent_id) where new.id = old.id and not applied
  ) former
  cross join (select old.id union select gateway.tenant_descendants(old.id)
              union select gateway.tenant_descendants(new.id)) departed;
  if applied then
    insert into gateway.stamp_queue (tenant_id) values (new.id) on conflict do nothing;
  else
    update public.tenant set updated_at = clock_timestamp()
    where id = any(array(select gateway.tenant_descendants(new.id))) and updated_at is distinct from gateway.transaction_stamp();
  end if;
  return null;
end $$;

-- The deletion of a tenant changes no row of a list that would queue the commit event.
create constraint trigger z_finalize_deletion after delete on public.tenant deferrable initially deferred
  for each row execute function gateway.finalize_stamps();

create trigger record_moved after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.record_moved_tenant();

alter table public.tenant
  enable always trigger record_deleted, enable always trigger record_moved, enable always trigger z_finalize_deletion;
