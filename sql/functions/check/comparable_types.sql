-- The types whose records have to be as their sources: no step will compare them.
create or replace function gateway.comparable_types(last gateway.step) returns setof gateway.record_type
language sql stable
begin atomic
  select record from gateway.mapping
  where last.is_complete
    and record not in (select record from gateway.scan) and record not in (select record from gateway.broken_mapping)
    and record not in (select record from gateway.notes_after(last.snapshot) where key is null)
  order by record;
end;
grant execute on function gateway.comparable_types to voucher_gateway;
