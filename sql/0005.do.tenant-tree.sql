-- The tree of tenants: walks along it, and the locks that keep a path still while a transaction relies on it.
--
-- The functions have planner settings, because a session would keep the plans that it made while the table was small.

-- Returns the path of a tenant: its id, then the ids of the tenants above it. The path ends below a tenant that does not
-- exist; it is null when the tenant itself does not exist. A loop, which appliers can make, ends the path.
--
-- With a lower cost, the planner reads and sorts all removals instead of reading the first ones in order.
create function gateway.tenant_path(lowest bigint) returns bigint[]
language plpgsql stable cost 100000 set enable_seqscan = off
as $$
declare
  next bigint := lowest;
  above bigint;
  path bigint[] := '{}';
begin
  while next <> all(path) loop
    select parent_id into above from public.tenant where id = next;
    exit when not found;
    path := path || next;
    next := above;
  end loop;
  return nullif(path, '{}');
end $$;

-- Returns a tenant and all above it, also when the tenant itself is deleted already.
create function gateway.tenant_with_ancestors(lowest bigint) returns setof bigint
language sql stable
return unnest(coalesce(gateway.tenant_path(lowest), array[lowest]));

-- Returns all tenants below one, without itself.
create function gateway.tenant_descendants(highest bigint) returns setof bigint
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  -- Fast for tenants without children, because each deletion of a tenant calls this.
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

-- A transaction that moves a tenant stamps all tenants below it, so it has to see all of them. Therefore a transaction that
-- puts a tenant below others locks each of these `for key share`, from the lowest up, and one that moves a tenant locks it
-- `for update`. Other changes of a tenant conflict with neither. The lock of a tenant is taken before its parent is read,
-- so the path cannot change any more. Appliers take no such locks (0009).

-- Locks a tenant and all above it. A loop, which appliers can make, ends the walk.
--
-- waits: whether it waits for a tenant that is being moved.
-- Returns the path; null when it does not wait and one of them is being moved.
create function gateway.lock_path(lowest bigint, waits boolean) returns bigint[]
language plpgsql set enable_seqscan = off
as $$
declare
  ancestor bigint := lowest;
  path bigint[] := '{}';
begin
  while ancestor is not null and ancestor <> all(path) loop
    path := path || ancestor;
    if waits then
      select parent_id into ancestor from public.tenant where id = ancestor for key share;
    else
      select parent_id into ancestor from public.tenant where id = ancestor for key share skip locked;
      if not found and exists (select from public.tenant where id = path[cardinality(path)]) then
        return null;
      end if;
    end if;
  end loop;
  return path;
end $$;

-- Locks all tenants above the new place of a tenant. Raises an error when the tenant would lie below itself.
create function gateway.lock_tenant_ancestors() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if new.id = any(gateway.lock_path(new.parent_id, true)) then
    raise exception 'tenant % cannot lie below itself', new.id using errcode = 'check_violation';
  end if;
  return null;
end $$;

call gateway.lock_against_writers('public.tenant');

create trigger a_lock_ancestors_on_insert after insert on public.tenant
  for each row when (new.parent_id is not null) execute function gateway.lock_tenant_ancestors();
create trigger a_lock_ancestors_on_update after update on public.tenant
  for each row when (new.parent_id is not null and (old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.lock_tenant_ancestors();

-- Locks a tenant that moves against transactions that put tenants below it.
create function gateway.lock_moved_tenant() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  perform from public.tenant where id = old.id for update;
  return new;
end $$;

create trigger a_lock_moved before update on public.tenant
  for each row when (old.parent_id is distinct from new.parent_id) execute function gateway.lock_moved_tenant();

create trigger require_read_committed after update on public.tenant
  for each row when ((old.parent_id, old.id) is distinct from (new.parent_id, new.id))
  execute function gateway.require_read_committed('A move');
