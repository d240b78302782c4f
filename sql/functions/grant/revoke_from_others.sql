-- Revokes the rights of other roles, except rights on objects of another owner.
create or replace procedure gateway.revoke_from_others()
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  revocation text;
begin
  for revocation in select statement from gateway.foreign_right where pg_has_role(owner, 'usage') loop
    execute revocation;
  end loop;
end $$;
