-- Records in gateway.mapping the rights and the code that a query of a mapping needs. evaluated: a view of its
-- expressions.
create or replace procedure gateway.note_reads(mapped gateway.record_type, view regclass, evaluated regclass)
language sql
as $$
  update gateway.mapping
  set needs = needs || array(
        select needed from gateway.view_reference
        left join pg_class on refclassid = 'pg_class'::regclass and pg_class.oid = refobjid
        left join pg_proc on refclassid = 'pg_proc'::regclass and pg_proc.oid = refobjid
        left join pg_type on refclassid = 'pg_type'::regclass and pg_type.oid = refobjid
        left join pg_operator on refclassid = 'pg_operator'::regclass and pg_operator.oid = refobjid
        cross join lateral (values
          ('select on ' || gateway.name_of(pg_class.oid)),
          (format('usage on schema %s', coalesce(relnamespace, pronamespace, typnamespace, oprnamespace)::regnamespace))) one (needed)
        where reader = view and needed is not null and relpersistence is distinct from 't'),
      code = code || (select coalesce(jsonb_agg(jsonb_build_object('owner', owner, 'object', object)), '[]')
                      from gateway.code_of_others(evaluated) where not is_table)
  where record = mapped
$$;
