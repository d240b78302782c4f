-- Returns the last change of each list, by its records and by its removals. A list with both is returned twice.
create or replace function gateway.last_changes() returns setof gateway.list_head
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  type gateway.record_type;
begin
  return query select id, 'tenant'::gateway.record_type, updated_at from gateway.tenant;
  return query select tenant_id, record, max(updated_at) from gateway.removal group by tenant_id, record;
  for type in select record from gateway.mapping where record not in ('tenant', 'category', 'variant') loop
    return query execute format(
      'select tenant.id, %1$L::gateway.record_type, last.updated_at
       from gateway.tenant cross join lateral (
         select updated_at from gateway.%1$I where tenant_id = tenant.id %2$s order by updated_at desc limit 1
       ) last', type, case type when 'customer' then 'and marketing_opted' end);
  end loop;
end $$;
grant execute on function gateway.last_changes to voucher_gateway;
