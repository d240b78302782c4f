-- Returns the lists whose heads are missing, earlier than their last change, or later than the last step (I12). The
-- result is exact even while steps run, because one statement sees one state of the database.
create or replace function gateway.head_differences() returns setof gateway.list_head
language sql stable
begin atomic
  select tenant_id, record, last.changed_at
  from (select tenant_id, record, max(changed_at) as changed_at from gateway.last_changes() group by tenant_id, record) last
  left join gateway.list_head head using (tenant_id, record)
  where head is null or head.changed_at < last.changed_at
  union all
  select * from gateway.list_head where changed_at > (select stamp from gateway.step order by stamp desc limit 1);
end;
grant execute on function gateway.head_differences to voucher_gateway;
