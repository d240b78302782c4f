-- The rights of other roles in the schema, granted or from the owner's default privileges, each with the statement that
-- revokes it. The view leaves out the right to use the schema and its types, which all logins have.
create or replace view gateway.foreign_right as
select case grantee when 0 then 'public' else grantee::regrole::text end as login, owner, kind || ' ' || name as object,
       format('revoke %s on %s %s from %s cascade', case kind when 'schema' then 'create' else 'all' end, kind, name,
              case grantee when 0 then 'public' else grantee::regrole::text end) as statement
from (select oid, 'schema', nspname::text, nspowner, nspacl from pg_namespace
      union all select relnamespace, 'table', format('gateway.%I', relname), relowner, relacl from pg_class
      union all select relnamespace, 'table', format('gateway.%I', relname), relowner, attacl
                from pg_class join pg_attribute on attrelid = pg_class.oid
      union all select pronamespace, 'routine', oid::regprocedure::text, proowner, coalesce(proacl, acldefault('f', proowner)) from pg_proc
      union all select typnamespace, 'type', format('gateway.%I', typname), typowner, typacl from pg_type
     ) object (namespace, kind, name, owner, acl)
cross join lateral aclexplode(acl)
where namespace = 'gateway'::regnamespace and (kind, privilege_type) <> ('schema', 'USAGE') and (kind, grantee) <> ('type', 0)
  and grantee not in (owner, (select nspowner from pg_namespace where nspname = 'gateway'))
  and grantee not in (select oid from pg_roles where rolname in ('voucher_gateway', 'voucher_gateway_reader') or rolsuper)
group by grantee, owner, kind, name;
grant select on gateway.foreign_right to voucher_gateway;
