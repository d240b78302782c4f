-- Records the types whose mapping or rule does not fit the tables, and lets steps evaluate the types that fit again.
create or replace function gateway.check_fitting(types gateway.record_type[]) returns void
language plpgsql
as $$
declare
  type gateway.record_type;
  rule record;
  mapping gateway.mapping;
begin
  foreach type in array types loop
    begin
      execute format('select from gateway.source_of_%s(''{}'', false)', type);
      for rule in
        select source, affects, (select name from unnest(columns) name where name not in (
                 select attname from pg_attribute where attrelid = to_regclass(source) and not attisdropped) limit 1) as missing
        from gateway.rule where record = type and to_regclass(source) is not null
      loop
        if rule.missing is not null then
          raise exception 'column "%" of % does not exist, and a rule reads it', rule.missing, rule.source using errcode = 'undefined_column';
        elsif rule.affects is not null then
          execute format('select from %s(''{}'')', rule.affects);
        end if;
      end loop;
      for mapping in select kept.* from gateway.mapping kept join gateway.broken_mapping using (record) where record = type and is_unprepared loop
        call gateway.prepare_mapping(type, mapping.files ->> 'select', mapping.files -> 'rules', mapping.is_plain, mapping.files ->> 'path');
      end loop;
    exception
      when syntax_error_or_access_rule_violation then
        insert into gateway.broken_mapping (record, reason) values (type, left(sqlerrm, 2000))
        on conflict (record) do update set reason = excluded.reason where broken_mapping.reason <> excluded.reason;
        continue;
      when lock_not_available then -- The next call repeats it.
        continue;
      when others then -- A row makes the select fail. The scan finds the row.
        if gateway.passes_by_itself(sqlstate) then
          raise;
        end if;
    end;
    delete from gateway.broken_mapping where record = type;
    if found then
      perform gateway.request_scan(type, 'The mapping fits the tables again.');
    end if;
  end loop;
end $$;
