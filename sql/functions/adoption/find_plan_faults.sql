-- Finds large tables that a query reads completely because an index is missing, although the query needs few rows.
create or replace function gateway.find_plan_faults(query text, reader text) returns setof gateway.finding
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
  select distinct 'warning', format('%s lacks an index for %s, which reads all of its %s rows', gateway.name_of(relation), reader,
                           to_char(greatest(reltuples, 0), 'FM999,999,999,999')),
         -- In the conditions of a plan, the alias of the table precedes a column.
         coalesce('Create one, for example: create index on ' || gateway.name_of(relation) || ' (' || (
           -- A cast that changes the value must be part of the index.
           select string_agg(distinct case when base in ('text'::regtype, 'varchar'::regtype) then name
                                           else coalesce('((' || name || ')::' || type || ')', name) end, ', ')
           from node, jsonb_each_text(node) condition,
                regexp_matches(value, replace(
                  $re$@\.("[^"]+"|\w+)(?:\)::([\w ]+))? = |= \(?@\.("[^"]+"|\w+)(?:\)::([\w ]+))?$re$, '@', alias), 'g') match
           cross join lateral (values (coalesce(match[1], match[3]), coalesce(match[2], match[4]))) part (name, type)
           left join lateral (
             select coalesce(nullif(typbasetype, 0), pg_type.oid) as base
             from pg_attribute join pg_type on pg_type.oid = atttypid where attrelid = relation and quote_ident(attname) = name) of_type on true
           where key ~ '(Cond|Filter)$') || ');',
           'Create one of the expression that it compares, for example of the key: create index on ' || gateway.name_of(relation)
             || ' ((a || ''/'' || b));'), null::jsonb
  from scanned join pg_class on pg_class.oid = relation
  where (reltuples > 1000 or pg_relation_size(relation) > 1e6)
    -- An index helps only a query that needs few rows.
    and (reltuples < 0 or (select (node #>> '{Plan,Plan Rows}')::numeric from node where node ? 'Plan') < reltuples / 10)
$$;
