-- Returns the nodes of the plan of a query, and the outer object of the plan.
create or replace function gateway.plan_of(query text) returns setof jsonb
language plpgsql set enable_seqscan = off set jit = off
as $$
begin
  return query
    select jsonb_path_query(plan::jsonb, 'strict $.** ? (@.type() == "object")')
    from gateway.read_as_reader('explain (verbose, format json) ' || query, null) as (plan json);
end $$;
