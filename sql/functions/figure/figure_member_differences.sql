-- Returns for each ancestor the tenants that gateway.figure_member lacks, and the tenants that it must not have.
--
-- tree: the result of gateway.tree_members; null when the tree has not changed.
create or replace function gateway.figure_member_differences(tree gateway.figure_member[])
returns table (ancestor_id bigint, lacking bigint[], surplus bigint[])
language sql stable
begin atomic
  with present as (
    select ancestor_id, tenant_id from unnest(tree)
    union
    select ancestor_id, tenant_id from gateway.figure_member member
    -- A large tenant without tenants below it is its only member.
    where tree is null and exists (
      select from gateway.figure_member other where other.ancestor_id = member.ancestor_id and other.tenant_id <> other.ancestor_id)
    union
    select tenant_id, tenant_id from gateway.voucher_count where vouchers > gateway.most_counted()
  )
  select ancestor_id, coalesce(array_agg(tenant_id) filter (where member is null), '{}'),
         coalesce(array_agg(tenant_id) filter (where present is null), '{}')
  from present full join gateway.figure_member member using (ancestor_id, tenant_id)
  where present is null or member is null
  group by 1 order by 1;
end;
grant execute on function gateway.figure_member_differences to voucher_gateway;
