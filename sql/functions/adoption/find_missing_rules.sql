-- Finds the tables of a mapping that lack a rule. A table needs no rule when a row is shown only by the record whose
-- key is the primary key of the row: then the plan for one key finds all rows of the table by their primary key.
-- Otherwise the keys of the table and of the mapping are compared.
--
-- ruled: the names of the tables that have a rule, from the names of the files.
create or replace function gateway.find_missing_rules(mapped gateway.record_type, ruled text[]) returns setof gateway.finding
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  one_key text;
  source record;
  may_be_key boolean;
begin
  select * into one_key from gateway.read_as_reader(format('select key::text from %s where key is not null limit 1', view), null) as (key text);
  if one_key is null then
    one_key := (select case given when 'uuid' then gen_random_uuid()::text else '1' end
                from gateway.mapped_fields(mapped, view) where name = 'id');
  end if;
  for source in
    select relation, relname, min(quote_ident(attname)) as key, count(attname) = 1 as has_key
    from gateway.relations_read_by(view) relation
    join pg_class on pg_class.oid = relation join pg_namespace on pg_namespace.oid = relnamespace
    left join pg_index on indrelid = relation and indisprimary
    left join pg_attribute on attrelid = relation and attnum = any(indkey)
    where relkind in ('r', 'p') and not array[relname::text, concat_ws('.', nspname, relname)] && ruled
    group by relation, relname
  loop
    may_be_key := source.has_key;
    if may_be_key then
      continue when (
        select bool_and(exists (
          select from jsonb_each_text(node) condition
          where value ~ format('%s\.%s\)?(::[\w ]+)? = ''?%s\W', gateway.pattern_of(quote_ident(node ->> 'Alias')),
                               gateway.pattern_of(source.key), gateway.pattern_of(one_key))))
        from gateway.plan_of(format('select * from %s where key = %L', view, one_key)) node
        where to_regclass(quote_ident(node ->> 'Schema') || '.' || quote_ident(node ->> 'Relation Name')) in (select gateway.tables_of(source.relation)));
      execute format('create temporary view source_key as select %s::text as key from %s', source.key, source.relation);
      grant select on pg_temp.source_key to voucher_gateway_reader;
      select * into may_be_key from gateway.read_as_reader(format(
        'select not exists (select from %s mapped where key is not null and not exists (
           select from pg_temp.source_key source where source.key = mapped.key::text))', view), null) as (is_key boolean);
      drop view pg_temp.source_key;
    end if;
    return next (
      case when may_be_key then 'warning' else 'error' end,
      format('It reads %s, which has no rule, and whose primary key %s the key', gateway.name_of(source.relation),
             case when may_be_key then 'may not be' else 'is not' end),
      format('Add %s.from.%s.sql, a select of the keys of %s over the table `changed`, which has rows of %s%s', mapped, source.relname,
             case mapped when 'category' then 'categories' else mapped || 's' end, gateway.name_of(source.relation),
             case when may_be_key then '. Where the primary key is the key, the rule may select just that' else '' end), null)::gateway.finding;
  end loop;
end $$;
