-- Finds literals such as 'today' in a query, which PostgreSQL has replaced by an instant when it created the view.
create or replace function gateway.find_literal_faults(view text, query text) returns setof gateway.finding
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select distinct 'warning', format('It has %s, which PostgreSQL replaces by one instant when it reads the file', literal),
         'Leave it out: v1 compares the days of validity with the present day. Else let a job of the platform write the value into a column',
         null::jsonb
  from regexp_matches(regexp_replace(query, '--[^\n]*', '', 'g'), $re$'\s*(?:now|today|tomorrow|yesterday)\s*'$re$, 'gi') found, unnest(found) literal
  where position(lower(literal) in lower(pg_get_viewdef(to_regclass('pg_temp.' || view)))) = 0
$$;
