-- Returns the sources whose changes are not captured, each with a trigger that is missing or differs from the trigger
-- of gateway.capture, or with null when the source itself is missing. A login with the right TRIGGER can replace
-- triggers, but not drop them.
create or replace function gateway.find_uncaptured() returns table (source text, trigger text)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off
begin atomic
  select captured.source,
         case when to_regclass(captured.source) is not null then min(expected.name || ' on ' || part::text) end
  from (select source, string_agg(convert_to(record::text, 'UTF8') || '\x00', '' order by record) as types from gateway.rule group by source) captured
  left join pg_class on pg_class.oid = to_regclass(captured.source)
  left join lateral gateway.tables_of(pg_class.oid) part on true
  cross join lateral (values
    ('capture_truncated', 'A', 'gateway.capture_truncated', 32, captured.types, null, null),
    ('capture_row', case relkind when 'p' then 'A' else 'RA' end, gateway.function_of(captured.source, 'capture_row_of_'), 29, '', null, null),
    ('capture_inserted', 'OA', gateway.function_of(captured.source, 'capture_rows_of_'), 4, '', null, 'changed'),
    ('capture_deleted', 'OA', gateway.function_of(captured.source, 'capture_rows_of_'), 8, '', 'changed', null),
    ('capture_updated', 'OA', gateway.function_of(captured.source, 'capture_rows_of_'), 16, '', 'former', 'changed')
  ) expected (name, states, function, type, arguments, old_rows, new_rows)
  left join pg_trigger on tgrelid = part and tgname = expected.name and strpos(states, tgenabled::text) > 0
    and tgfoid = to_regproc(function) and tgtype = type and tgargs = arguments and tgqual is null and tgattr = ''
    and (tgoldtable, tgnewtable) is not distinct from (old_rows::name, new_rows::name)
  where tgname is null and (relkind <> 'p' or states <> 'OA')
    -- The platform creates partitions while the service runs, so they may lack the trigger. The check of all records
    -- finds rows that were truncated in such a partition.
    and not (expected.name = 'capture_truncated' and part <> pg_class.oid)
  group by captured.source;
end;
grant execute on function gateway.find_uncaptured to voucher_gateway;
