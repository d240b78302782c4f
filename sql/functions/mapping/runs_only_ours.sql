-- Returns true when only the gateway's owner and superusers can change or replace the relations that a view reads, and
-- when the view runs only code of PostgreSQL and the gateway.
create or replace function gateway.runs_only_ours(view regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  with owner as (
    select oid from pg_roles where rolsuper
    union select nspowner from pg_namespace where nspname = 'gateway'
    union select 'pg_database_owner'::regrole from pg_database join pg_roles on pg_roles.oid = datdba
    where datname = current_database() and (rolsuper or datdba = (select nspowner from pg_namespace where nspname = 'gateway'))
  )
  select not exists (
    select from gateway.view_reference left join pg_class on refclassid = 'pg_class'::regclass and pg_class.oid = refobjid
    where (reader = view or reader in (select gateway.relations_read_by(view)))
      and case when pg_class.oid is null then (pg_identify_object(refclassid, refobjid, 0)).schema is distinct from 'gateway'
               when relpersistence = 't' then false
               else relkind not in ('r', 'p') or relowner not in (select oid from owner)
                 or (select nspowner from pg_namespace where pg_namespace.oid = relnamespace) not in (select oid from owner) end)
$$;
