-- Updates the paths of changed tenants, and of all tenants below them. A tenant leaves the lists of its former
-- ancestors. A tenant that stays gets a stamp, so that its new ancestors list it. A tenant with more than 49 ancestors
-- is rejected, but stays in the lists of the nearest ancestors.
--
-- moved: true when a path has changed.
create or replace function gateway.write_tenant_paths(changed bigint[], inout latest timestamptz, out moved boolean)
language plpgsql
as $$
declare
  stamps bigint;
  heads gateway.list_head[];
begin
  with recursive affected (id) as (
    select unnest(changed)
    union
    select tenant.id from affected join gateway.tenant on tenant.parent_id = affected.id
  ), walked (id, path, above) as ( -- The walk ends at a loop, or one tenant after the maximum length of a path.
    select id, array[id], parent_id from affected join gateway.tenant using (id)
    union all
    select walked.id, path || above, parent_id from walked join gateway.tenant on tenant.id = above
    where above <> all(path) and cardinality(path) < 51
  ), fresh_path as materialized (
    select distinct on (id) id, path as fresh from affected left join walked using (id) order by id, cardinality(path) desc
  ), too_deep as (
    insert into gateway.rejected (record, key, reason)
    select 'tenant', key, 'More than 49 tenants are above it.' from fresh_path, unnest(gateway.keys_of('tenant', array[id])) key
    where cardinality(fresh) > 50
    on conflict do nothing
  ), readmitted as (
    delete from gateway.rejected
    where record = 'tenant' and reason like 'More than 49 %' and (gateway.ids_of('tenant', array[key], false))[1] in (
      select id from fresh_path where coalesce(cardinality(fresh), 0) <= 50)
  ), differing as materialized (
    select id, fresh[:50] as fresh, path as stale from fresh_path left join gateway.tenant_path on tenant_id = id
    where fresh[:50] is distinct from path
  ), deleted as (
    delete from gateway.tenant_path using differing where tenant_id = id and fresh is null
  ), written as (
    insert into gateway.tenant_path (tenant_id, path) select id, fresh from differing where fresh is not null
    on conflict (tenant_id) do update set path = excluded.path
  ), stamped as (
    update gateway.tenant set updated_at = latest + place * interval '1 microsecond'
    from (select id, row_number() over (order by id) as place from differing
          where fresh is not null and stale is not null and id <> all(changed)) moved_along
    where tenant.id = moved_along.id
    returning tenant.id, updated_at
  ), departed as (
    insert into gateway.removal (record, tenant_id, id, reason, updated_at)
    select 'tenant', former, id, case when fresh is null then 'deleted' else 'moved' end::gateway.removal_reason,
           latest + ((select count(*) from stamped) + row_number() over (order by id, former)) * interval '1 microsecond'
    from differing, unnest(case when cardinality(stale) > 1 then stale[2:] else stale end) former
    where former <> all(coalesce(fresh, '{}'))
    returning tenant_id, id, updated_at
  ), head as (
    select id as tenant_id, updated_at from gateway.tenant where id = any(changed)
    union all select id, updated_at from stamped
    -- A tenant that left is included, because a token may name only this tenant.
    union all select unnest(array[tenant_id, id]), updated_at from departed
  )
  select (select count(*) from stamped) + (select count(*) from departed), exists (select from differing),
         (select array_agg((tenant_id, 'tenant', updated_at)::gateway.list_head) from head)
  into stamps, moved, heads;
  perform gateway.write_heads(heads);
  latest := latest + stamps * interval '1 microsecond';
end $$;
