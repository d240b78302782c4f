-- Finds calls in a view, or in other views that it reads, whose value changes although no row changes.
create or replace function gateway.find_clock_faults(view regclass) returns setof gateway.finding
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select distinct 'warning', format('It calls %s, whose value changes while no row does. A record never follows that by itself: only when a '
           'row that it shows is written, or when the check in the background compares it, once a day', called),
         'Leave it out: v1 compares the days of validity with the present day. Else let a job of the platform write the value into a column',
         null::jsonb
  -- Dependencies do not include functions of PostgreSQL itself.
  from pg_rewrite cross join lateral regexp_matches(ev_action::text, ':funcid (\d+) |SQLVALUEFUNCTION :op ([0-8]) ', 'g') found
  left join pg_proc on pg_proc.oid = found[1]::oid and pronamespace = 'pg_catalog'::regnamespace
    and (provolatile = 'v' or proname ~ '^(now|(transaction|statement)_timestamp)$' or proname = 'age' and pronargs = 1)
  cross join lateral (values (pg_proc.oid::regprocedure::text), ((string_to_array('current_date current_time current_time current_timestamp '
    'current_timestamp localtime localtime localtimestamp localtimestamp', ' '))[found[2]::integer + 1])) call (called)
  where ev_class in (select view union select gateway.relations_read_by(view)) and called is not null
$$;
