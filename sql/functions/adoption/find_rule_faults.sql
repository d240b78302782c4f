-- Finds errors in a rule for a source. The query of the rule is the temporary view `affected`.
--
-- rule: the name of its file.
create or replace function gateway.find_rule_faults(mapped gateway.record_type, source regclass, rule text) returns setof gateway.finding
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select 'error', 'It has more columns than one', 'Select the keys alone', null::jsonb
    from pg_attribute where attrelid = 'pg_temp.affected'::regclass and attnum > 0 having count(*) <> 1
    union all
    select 'error', format('It reads %s.%s, a virtual generated column, which triggers do not see', table_name, column_name),
           'Read the columns of its expression instead', null
    from gateway.columns_read_by('pg_temp.affected', source)
    join pg_attribute on attrelid = source and quote_ident(attname) = column_name and attgenerated = 'v'
    where table_name = gateway.name_of(source)
    union all
    select 'error', format('Its keys are of the type %s, but the key of %s.sql is of the type %s', format_type(given.atttypid, null),
                           mapped, format_type(key.atttypid, null)), 'Select the keys of the mapping', null
    from pg_attribute given join pg_attribute key on key.attrelid = gateway.view_of(mapped::text) and key.attname = 'key'
    where given.attrelid = 'pg_temp.affected'::regclass and given.attnum = 1
      and (given.atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype), given.atttypid = 'uuid'::regtype)
        <> (key.atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype), key.atttypid = 'uuid'::regtype);
  return query select * from gateway.find_reader_faults('pg_temp.affected') union all select * from gateway.find_clock_faults('pg_temp.affected');
  return query select * from gateway.find_plan_faults('select distinct * from pg_temp.affected', rule);
end $$;
