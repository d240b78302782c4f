-- Returns the columns of a source that a view reads. Returns null when the view may read unknown columns: through other
-- views, which can be replaced, or through functions that may read tables. Also returns null when it reads whole rows,
-- system columns, or virtual generated columns, because updates of other columns change these.
create or replace function gateway.shown_columns(view regclass, source regclass) returns text[]
language sql stable
as $$
  with read as materialized (
    select * from gateway.view_reference where reader = view
  ), shown as materialized (
    select attname::text as name, attnum < 0 or attgenerated = 'v' as is_computed from pg_attribute
    where attrelid = source and attnum in (select refobjsubid from read where refclassid = 'pg_class'::regclass and refobjid = source)
  )
  select array(select name from shown)
  where not exists (select from shown where is_computed)
    and pg_get_viewdef(view) not like '%.*%'
    and not exists (select from pg_class where oid in (select gateway.relations_read_by(view)) and relkind in ('v', 'm'))
    and not exists (
      select from pg_proc
      where provolatile <> 'i' and pronamespace not in ('pg_catalog'::regnamespace, 'gateway'::regnamespace)
        and (oid in (select refobjid from read where refclassid = 'pg_proc'::regclass)
          or oid in (select oprcode from read join pg_operator on pg_operator.oid = refobjid
                     where refclassid = 'pg_operator'::regclass)))
$$;
