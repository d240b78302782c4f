-- The types whose records must match their sources now, because no scan that would compare them is pending.
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
