-- Grants voucher_gateway_reader the rights that mappings need, and revokes all other rights.
create or replace procedure gateway.grant_sources()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  command text;
begin
  for command in
    with possible as (
      select format('usage on schema %s', oid::regnamespace) as needed, nspacl as acl,
             has_schema_privilege('voucher_gateway_reader', oid, 'usage') as is_given from pg_namespace
      union all
      select format('select on %s', oid::regclass), relacl, has_table_privilege('voucher_gateway_reader', oid, 'select')
      from pg_class where relpersistence <> 't'
    ), compared as (
      select *, needed in (select unnest(needs) from gateway.mapping) as is_needed from possible
    )
    select format('grant %s to voucher_gateway_reader', needed) from compared where is_needed and not is_given
    union all
    select format('revoke %s from voucher_gateway_reader', needed) from compared cross join aclexplode(acl)
    where not is_needed and grantee = 'voucher_gateway_reader'::regrole and pg_has_role(grantor, 'usage')
  loop
    execute command;
  end loop;
end $$;
