-- Returns the objects on which a view depends and that belong neither to the gateway's owner nor to a superuser. Tables
-- of other owners are included, because an owner can replace a table by a view.
create or replace function gateway.code_of_others(view regclass) returns table (owner text, object text, is_table boolean)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  with recursive reached (class, object) as (
    select 'pg_class'::regclass::oid, view::oid
    union
    select next.* from reached cross join lateral (
      select 'pg_rewrite'::regclass::oid, oid from pg_rewrite where class = 'pg_class'::regclass and ev_class = object and ev_type = '1'
      union all
      select 'pg_constraint'::regclass, oid from pg_constraint where class = 'pg_type'::regclass and contypid = object
      union all
      select refclassid, refobjid from pg_depend
      where classid = class and objid = object and class <> 'pg_class'::regclass and refclassid::regclass::text ~ '^pg_(class|proc|type|operator)$'
    ) next
  )
  select owner::regrole::text, pg_describe_object(class, object, 0), is_table
  from reached cross join lateral (
    select relowner, relkind not in ('v', 'm') from pg_class where class = 'pg_class'::regclass and oid = object and relpersistence <> 't'
    union all select proowner, false from pg_proc where class = 'pg_proc'::regclass and oid = object
    union all select oprowner, false from pg_operator where class = 'pg_operator'::regclass and oid = object
    union all select typowner, false from pg_type where class = 'pg_type'::regclass and oid = object and typrelid = 0
  ) owned (owner, is_table)
  where owner <> 'voucher_gateway_reader'::regrole and owner <> (select nspowner from pg_namespace where nspname = 'gateway')
    and not (select rolsuper from pg_roles where oid = owner)
$$;
