-- Finds errors in the rows of a mapping: in their keys, in their references, and by the rules of v1. Reads all rows.
create or replace function gateway.find_row_faults(mapped gateway.record_type) returns setof gateway.finding
language plpgsql set jit = off set search_path = pg_catalog, pg_temp
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  sells_variants constant boolean := mapped = 'voucher' and exists (
    select from pg_attribute where attrelid = view and attname = 'parent_product_id');
  key_type text;
  rejections text;
  others text;
  candidates text;
  shape text;
  -- All values from mappings are read as text, except the candidate record.
  keys_of constant text := 'gateway.read_as_reader(''select key::text from pg_temp.mapped_%s'', null) as other (key text)';
  lookup constant text := $case$, (case when mapped.%1$I is not null and not exists (select from %2$s where other.key = mapped.%1$I)
                            %5$s then array['warning', %3$L, %4$L] end)$case$;
  gone constant text := 'Nothing, if these are gone, or v1 shall not show them. Else compare both expressions';
  keys text[];
  failing record;
  of_one_key text;
begin
  select
    string_agg(format($case$case when mapped.%1$I is null then 'its %1$s is null' end$case$, column_name), ', ' order by place)
      filter (where is_required and name <> 'id')
    || coalesce(string_agg(format($case$, case when mapped.%1$I is not null and not exists (
         select from %2$s where other.key = mapped.%1$I) then '%1$s names no tenant' end$case$, column_name, format(keys_of, 'tenant')), '')
         filter (where name = 'tenant_id' and gateway.view_of('tenant') is not null), ''),
    coalesce(string_agg(format($case$, (case when mapped.%I is null then array['warning', %L, 'If that is not meant, give them another value'] end)$case$,
        column_name, format('%s is null in {rows}: %s is taken', column_name, regexp_replace(standard, '::[^:]*$', ''))), '' order by place)
      filter (where standard is not null and given is not null), '')
    || coalesce(string_agg(format(case column_name when 'category_ids'
           then $case$, (case when not mapped.%1$I::text[] <@ array(select key from %2$s) then array['warning', %3$L, %4$L] end)$case$
           else lookup end,
         column_name, format(keys_of, kind), format('%s names no %s in {rows}', column_name, kind), gone,
         case when sells_variants and column_name = 'product_id' then 'and mapped.parent_product_id is null' end), '' order by place)
         filter (where given is not null and name not in ('id', 'tenant_id') and gateway.view_of(kind) is not null), '')
    || case when sells_variants and gateway.view_of('variant') is not null then format(
         lookup, 'product_id', format(keys_of, 'variant'), 'product_id names no variant in {rows}', gone,
         'and mapped.parent_product_id is not null') else '' end,
    format('select %s, row(%s%s)::gateway.%I as candidate from %s mapped', string_agg(format(
             case name when 'category_ids' then '%I::text[]::text' else '%I::text' end, column_name), ', ' order by place)
             filter (where given is not null),
           string_agg(expression, ', ' order by place), case mapped when 'product' then ', null' else '' end, mapped || '_fields', view),
    string_agg(format('%I text, ', column_name), '' order by place) filter (where given is not null)
      || format('candidate gateway.%I', mapped || '_fields')
  into rejections, others, candidates, shape
  from gateway.mapped_fields(mapped, view);
  begin
    return query execute format($faults$
      with mapped as materialized (select * from gateway.read_as_reader(%1$L, null) as (%4$s)), judged as materialized (
        select mapped.*, coalesce(%2$s, case when not gateway.is_identifier((candidate).id) then 'its key is not between 1 and 2^53 - 1' end,
                                  -- The same reason can end with different values.
                                  split_part(gateway.error_of(candidate), ': ', 1)) as reason
        from mapped
      ), fault (key, finding) as (
        select key::text, finding
        from judged mapped cross join lateral (values
          (case when key is null then array['error', 'The key is null in {rows}', 'Leave these rows out in the where of the select'] end),
          (array['rejected', reason])
          %3$s) found (finding)
        where finding[2] is not null
        union all
        select key::text, array['error', 'Other rows have the same key as {rows}', 'Let the select return one row for each key']
        from mapped where key is not null group by key having count(*) > 1
      ), counted as (
        select finding, key, count(*) over (partition by finding) as faults, row_number() over (partition by finding order by key) as place,
               count(*) over (partition by finding[1]) = (select count(*) from mapped) as are_all
        from fault
      )
      select case when finding[1] <> 'rejected' then finding[1] when bool_and(are_all) then 'error' else 'warning' end,
             replace(case finding[1] when 'rejected' then '{rows} will be rejected: ' || finding[2] else finding[2] end,
                     '{rows}', to_char(faults, 'FM999,999,999,999') || case faults when 1 then ' row' else ' rows' end),
             coalesce(finding[3], case when bool_and(are_all) then 'Put another expression into the select: no row has what v1 requires'
                                       else 'Correct these rows, or leave them out in the where of the select. v1 does not show them before' end),
             jsonb_agg(key order by key) filter (where place <= 10 and key is not null)
      from counted group by finding, faults order by 1, 2$faults$,
      candidates, rejections, others, shape);
  exception
    when syntax_error_or_access_rule_violation then raise;
    when others then
      key_type := (select format_type(atttypid, null) from pg_attribute where attrelid = view and attname = 'key');
      keys := array(select * from gateway.read_as_reader(format('select key::text from %s where key is not null', view), null) as (key text));
      select min(found.reason) as reason, jsonb_agg(found.key) as keys into failing
      from gateway.find_failing_keys(
        format('select row::text from (%s where key = any($1::%s[])) row', candidates, key_type), keys, 10) found;
      return next ('error', format('It cannot be evaluated for some rows: %s', coalesce(failing.reason, sqlerrm)),
                   'Correct these rows, or let the select do without the value. The other rules are checked after that', failing.keys)::gateway.finding;
  end;
  -- Steps evaluate single keys, so the plan for one key is checked.
  select format('select * from %s where key = %L', view, key) into of_one_key
  from gateway.read_as_reader(format('select key::text from %s where key is not null limit 1', view), null) as (key text);
  if of_one_key is not null then
    return query select * from gateway.find_plan_faults(of_one_key, mapped || '.sql');
  end if;
end $$;
