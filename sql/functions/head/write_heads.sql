-- Writes heads of lists. Only steps (each step once) and repairs call this function, under the lock of steps (I12).
create or replace function gateway.write_heads(heads gateway.list_head[]) returns void
language sql
begin atomic
  insert into gateway.list_head (tenant_id, record, changed_at)
  select tenant_id, record, max(changed_at) from unnest(heads) group by tenant_id, record
  on conflict (tenant_id, record) do update set changed_at = excluded.changed_at;
end;
