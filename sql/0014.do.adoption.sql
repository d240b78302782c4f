-- The check of a mapping, before it is installed. Its caller has created a temporary view `mapped_<type>` of each select, and rolls
-- its transaction back.

-- A finding. Its sentences end without a full stop.
create type gateway.finding as (
  level   text, -- `error`: the mapping cannot be installed. `warning`: it can.
  problem text,
  remedy  text,
  keys    jsonb  -- Examples, an array of at most ten.
);

-- Returns the view of a type's select; null when the mapping has none.
create function gateway.view_of(mapped text) returns regclass
language sql stable
return to_regclass('pg_temp.mapped_' || mapped);

-- Returns what is wrong with the columns of a mapping: with their names, then with their types.
create function gateway.find_column_faults(mapped gateway.record_type) returns setof gateway.finding
language plpgsql
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  one record;
begin
  return query
    select 'error', format('It has no column %s, which each %s needs', column_name, mapped), format('Add %s to the select', column_name),
           null::jsonb
    from gateway.mapped_fields(mapped, view) where is_required and given is null
    union all
    select 'error', format('Its column %s is none of those of a %s', attname, mapped),
           (select format('Leave it out, or give it the name of one that is missing: %s', string_agg(column_name, ', ' order by place))
            from gateway.mapped_fields(mapped, view) where given is null), null
    from pg_attribute
    where attrelid = view and attnum > 0 and format('%s.%s', mapped, attname) <> 'voucher.customer_name'
      and attname not in (select column_name from gateway.mapped_fields(mapped, view));
  if found then
    return;
  end if;
  for one in select * from gateway.mapped_fields(mapped, view) where given is not null loop
    begin
      -- To create a view needs no right to read the tables.
      execute format('create temporary view converted as select %s from %s, (values (false)) given (assigns); drop view pg_temp.converted',
                     one.expression, view);
    exception
      when others then
        return next ('error', format('Its column %s has a wrong type: %s', one.column_name, sqlerrm),
                     format('Cast it to %s in the select', (
                       select format_type(atttypid, atttypmod) from pg_attribute
                       where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attname = one.name)), null)::gateway.finding;
    end;
  end loop;
  return query
    select 'error', format('Its column %s is of the type %s, but the key of %s.sql is of the type %s', field.column_name, field.given,
                           field.kind, key.given), 'Let both be integers, or neither of them', null::jsonb
    from gateway.mapped_fields(mapped, view) field
    join unnest(enum_range(null::gateway.record_type)) other on other::text = field.kind and field.name <> 'id'
    join gateway.mapped_fields(other, gateway.view_of(other::text)) key on key.name = 'id' and key.is_integer <> field.is_integer;
end $$;

-- Returns what is wrong with the relations that a mapping reads.
create function gateway.find_source_faults(mapped gateway.record_type) returns setof gateway.finding
language sql stable
as $$
  select level, format('It reads %s, %s', gateway.name_of(relation), problem), remedy, null::jsonb
  from gateway.relations_read_by(gateway.view_of(mapped::text)) relation join pg_class on pg_class.oid = relation
  cross join lateral (values
    (relkind = 'f', 'error', 'a foreign table, whose changes nothing notes', 'Copy its rows into a table, and read that one'),
    (relkind = 'm', 'error', 'a materialized view, whose changes nothing notes', 'Read the tables that it reads'),
    (relkind in ('r', 'p') and relnamespace = 'pg_catalog'::regnamespace, 'error', 'a table of the system',
     'Leave it out: no trigger can note its changes'),
    (relpersistence = 't', 'error', 'a temporary table, which other sessions do not see', 'Read a permanent table'),
    (relpersistence = 'u', 'warning', 'an unlogged table, which a crash of the server empties',
     format('Run: alter table %s set logged;', gateway.name_of(relation))),
    (relispartition, 'error', 'a partition: what is written through its parent is not noted',
     format('Read %s instead', (select gateway.name_of(inhparent) from pg_inherits where inhrelid = relation limit 1))),
    (relkind in ('r', 'p') and not pg_has_role(relowner, 'usage'), 'error', 'whose triggers only its owner can create',
     format('Run: grant %s to %I;', relowner::regrole, current_user)),
    (row_security_active(relation), 'error', format('which shows %I only some of its rows (row level security)', current_user),
     format('Let a superuser run: alter role %I bypassrls;', current_user)),
    (relkind in ('r', 'p') and (relreplident = 'n' or relreplident = 'd' and not exists (
       select from pg_index where indrelid = relation and indisprimary)), 'warning',
     'which has no replica identity: once logical replication publishes it, its updates and deletes fail',
     'Before you replicate it, add a primary key, or make a unique index of columns that are not null its replica identity')
  ) fault (applies, level, problem, remedy)
  where applies
  union all
  select 'warning', format('It reads %s.%I, a generated column, which logical replication leaves out before PostgreSQL 18',
                           gateway.name_of(attrelid), attname), 'If the table is replicated, write the expression in the select', null::jsonb
  from (select distinct attrelid, attname
        from gateway.view_reference join pg_attribute on attrelid = refobjid and attnum = refobjsubid
        where reader = gateway.view_of(mapped::text) and refclassid = 'pg_class'::regclass and attgenerated <> '') generated
  union all
  select distinct 'warning',
         format('%s calls %s, and changes of tables that this function reads are not noted',
                case reader when gateway.view_of(mapped::text) then 'It' else 'The view ' || gateway.name_of(reader) end, proc.oid::regprocedure),
         format('Write what it does in the select. If it depends on its arguments alone, run: alter function %s immutable;',
                proc.oid::regprocedure), null::jsonb
  from gateway.view_reference join pg_proc proc on proc.oid = refobjid
  where reader in (select gateway.view_of(mapped::text) union select gateway.relations_read_by(gateway.view_of(mapped::text)))
    and refclassid = 'pg_proc'::regclass and provolatile <> 'i'
    and pronamespace not in ('pg_catalog'::regnamespace, 'gateway'::regnamespace)
$$;

-- Returns the nodes of the plan of a query, and the object around them.
create function gateway.plan_of(query text) returns setof jsonb
language plpgsql set enable_seqscan = off set jit = off
as $$
declare
  plan jsonb;
begin
  execute 'explain (verbose, format json) ' || query into plan;
  return query select jsonb_path_query(plan, 'strict $.** ? (@.type() == "object")');
end $$;

-- Returns a regular expression of a text.
create function gateway.pattern_of(words text) returns text
language sql immutable parallel safe
return regexp_replace(words, '(\W)', '\\\1', 'g');

-- Returns which tables of a mapping lack a rule. None is needed where a row is shown by the record of its own primary key alone: the
-- plan for a key finds all rows of the table by it. Where it does not, the keys of the table and of the mapping are compared.
--
-- ruled: the names of the tables that have a rule, as files have them.
create function gateway.find_missing_rules(mapped gateway.record_type, ruled text[]) returns setof gateway.finding
language plpgsql
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  one_key text;
  source record;
  may_be_key boolean;
begin
  execute format('select key from %s where key is not null limit 1', view) into one_key;
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
      execute format('select not exists (select from %s mapped where key is not null and not exists (
                        select from %s source where source.%s::text = mapped.key::text))', view, source.relation, source.key) into may_be_key;
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

-- Returns the columns that a view reads, of relations that are not temporary. Those of `changed` are columns of its source.
create function gateway.columns_read_by(view regclass, source regclass default null)
returns table (schema_name text, table_name text, column_name text)
language sql stable
as $$
  select distinct relnamespace::regnamespace::text, gateway.name_of(pg_class.oid), quote_ident(attname)
  from gateway.view_reference
  join pg_class on pg_class.oid = case when refobjid = to_regclass('pg_temp.changed') then source else refobjid end
  join pg_attribute on attrelid = refobjid and attnum = refobjsubid
  where reader = view and refclassid = 'pg_class'::regclass and relpersistence <> 't'
  order by 2, 3
$$;

-- Returns the large tables of which a query reads all rows, although it needs few: those without an index for it.
create function gateway.find_plan_faults(query text, reader text) returns setof gateway.finding
language sql
as $$
  with node as materialized (
    select node from gateway.plan_of(query) node
  ), scanned as (
    select distinct to_regclass(quote_ident(node ->> 'Schema') || '.' || quote_ident(node ->> 'Relation Name')) as relation,
           gateway.pattern_of(quote_ident(node ->> 'Alias')) as alias
    from node
    where node ->> 'Node Type' = 'Seq Scan' or node ->> 'Node Type' like 'Index%Scan' and not node ? 'Index Cond'
  )
  select 'warning', format('%s lacks an index for %s, which reads all of its %s rows', gateway.name_of(relation), reader,
                           to_char(greatest(reltuples, 0), 'FM999,999,999,999')),
         -- Conditions name the columns with the alias of the table.
         coalesce(format('Create one, for example: create index on %s (%s);', gateway.name_of(relation), (
           select string_agg(distinct coalesce(match[1], match[2]), ', ')
           from node, jsonb_each_text(node) condition,
                regexp_matches(value, replace($re$@\.("[^"]+"|\w+)\)?(?:::[\w ]+)? = |= \(?@\.("[^"]+"|\w+)$re$, '@', alias), 'g') match
           where key ~ '(Cond|Filter)$')),
           'Let it find the rows by columns that an index has'), null::jsonb
  from scanned join pg_class on pg_class.oid = relation
  where (reltuples > 1000 or pg_relation_size(relation) > 1e6)
    -- Otherwise no index helps.
    and (reltuples < 0 or (select (node #>> '{Plan,Plan Rows}')::numeric from node where node ? 'Plan') < reltuples / 10)
$$;

-- Returns what is wrong with a rule for a source, whose query is the temporary view `affected`.
--
-- rule: the name of its file.
create function gateway.find_rule_faults(mapped gateway.record_type, source regclass, rule text) returns setof gateway.finding
language plpgsql
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
  return query select * from gateway.find_plan_faults('select distinct * from pg_temp.affected', rule);
end $$;

-- Returns some of the keys with which a query over the keys $1 fails, and why it does.
create function gateway.find_failing_keys(query text, keys text[], at_most integer) returns table (key text, reason text)
language plpgsql
as $$
declare
  half constant integer := cardinality(keys) / 2;
  found_rows integer;
begin
  if at_most > 0 then
    execute query using keys;
  end if;
exception when others then
  if half = 0 then
    return query select keys[1], sqlerrm;
    return;
  end if;
  return query select * from gateway.find_failing_keys(query, keys[:half], at_most);
  get diagnostics found_rows = row_count;
  return query select * from gateway.find_failing_keys(query, keys[half + 1:], at_most - found_rows);
end $$;

-- Returns what is wrong with the rows of a mapping: with their keys, with references, and by the rules of v1. Reads all rows.
create function gateway.find_row_faults(mapped gateway.record_type) returns setof gateway.finding
language plpgsql set jit = off
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  sells_variants constant boolean := mapped = 'voucher' and exists (
    select from pg_attribute where attrelid = view and attname = 'parent_product_id');
  key_type text;
  rejections text;
  others text;
  candidates text;
  rivals text := '';
  keys text[];
  failing record;
  of_one_key text;
begin
  select
    string_agg(format($case$case when mapped.%1$I is null then 'its %1$s is null' end$case$, column_name), ', ' order by place)
      filter (where is_required and name <> 'id')
    || coalesce(string_agg(format($case$, case when mapped.%1$I is not null and not exists (
         select from pg_temp.mapped_tenant tenant where tenant.key::text = mapped.%1$I::text) then '%1$s names no tenant' end$case$, column_name), '')
         filter (where name = 'tenant_id' and gateway.view_of('tenant') is not null), ''),
    coalesce(string_agg(format($case$, (case when mapped.%I is null then array['warning', %L, 'If that is not meant, give them another value'] end)$case$,
        column_name, format('%s is null in {rows}: %s is taken', column_name, regexp_replace(standard, '::[^:]*$', ''))), '' order by place)
      filter (where standard is not null and given is not null), '')
    || coalesce(string_agg(format(case column_name when 'category_ids'
           then $case$, (case when not mapped.%1$I::text[] <@ array(select key::text from %2$s) then array['warning', %3$L, %4$L] end)$case$
           else $case$, (case when mapped.%1$I is not null and not exists (select from %2$s other where other.key::text = mapped.%1$I::text)
                     %5$s then array['warning', %3$L, %4$L] end)$case$ end,
         column_name, gateway.view_of(kind), format('%s names no %s in {rows}', column_name, kind), case column_name
           when 'category_ids' then 'Nothing, if v1 shall not show these categories'
           when 'product_id' then 'Nothing, if the products are gone'
           else 'Nothing, if these are gone' end,
         case when sells_variants and column_name = 'product_id' then 'and mapped.parent_product_id is null' end), '' order by place)
         filter (where given is not null and name not in ('id', 'tenant_id') and gateway.view_of(kind) is not null), ''),
    format('select mapped.*, row(%s%s)::gateway.%I as candidate from %s mapped, (values (false)) given (assigns)',
           string_agg(expression, ', ' order by place), case mapped when 'product' then ', null' else '' end, mapped || '_fields', view)
  into rejections, others, candidates
  from gateway.mapped_fields(mapped, view);
  if mapped = 'voucher' then
    rivals := $rivals$
      union all
      select key, array['rejected', format('its %s is that of another voucher of its tenant', what)]
      from (select key::text, what, row_number() over (partition by tenant_id::text, what, words order by key) as place
            from judged cross join lateral (values
              ('reference', gateway.folded(gateway.trimmed((candidate).reference)) collate "C"),
              ('QR token', gateway.trimmed((candidate).qr_token) collate "C")) compared (what, words)
            where words is not null and reason is null) rival
      where place > 1$rivals$;
  end if;
  begin
    return query execute format($faults$
      with mapped as materialized (%1$s), judged as materialized (
        select mapped.*, coalesce(%2$s, case when not gateway.is_identifier((candidate).id) then 'its key is not between 1 and 2^53 - 1' end,
                                  -- A reason may end with the value.
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
        select key::text, array['error', 'The key is that of several rows in {rows}', 'Let the select return one row for each key']
        from mapped where key is not null group by key having count(*) > 1%4$s
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
      candidates, rejections, others, rivals);
  exception
    when syntax_error_or_access_rule_violation then raise;
    when others then
      key_type := (select format_type(atttypid, null) from pg_attribute where attrelid = view and attname = 'key');
      execute format('select array(select key::text from %s where key is not null)', view) into keys;
      select min(found.reason) as reason, jsonb_agg(found.key) as keys into failing
      from gateway.find_failing_keys(
        format('select gateway.error_of(candidate) from (%s) mapped where key = any($1::%s[])', candidates, key_type), keys, 10) found;
      return next ('error', format('It cannot be evaluated for some rows: %s', coalesce(failing.reason, sqlerrm)),
                   'Correct these rows, or let the select do without the value. The other rules are checked after that', failing.keys)::gateway.finding;
  end;
  -- What steps do: evaluate one key.
  execute format('select format(''select * from %1$s where key = %%L'', key) from %1$s where key is not null limit 1', view) into of_one_key;
  if of_one_key is not null then
    return query select * from gateway.find_plan_faults(of_one_key, mapped || '.sql');
  end if;
end $$;

-- Removes the schema with its triggers, and the extensions that it created, unless the platform has begun to use them.
create procedure gateway.remove()
language plpgsql
as $$
declare
  created constant text[] := array(
    select extname from pg_extension where obj_description(oid, 'pg_extension') = 'Created by the gateway');
  extension text;
begin
  drop schema gateway cascade;
  foreach extension in array created loop
    begin
      execute format('drop extension %I', extension);
    exception
      when dependent_objects_still_exist then null;
    end;
  end loop;
end $$;
