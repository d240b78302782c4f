-- For each tenant that has tenants below it (the ancestor), returns a row for the ancestor itself and a row for each
-- tenant below it.
create or replace function gateway.tree_members() returns setof gateway.figure_member
language sql stable
begin atomic
  select ancestor, unnest(array[ancestor, tenant_id]) from gateway.tenant_path, unnest(path[2:]) ancestor group by 1, 2;
end;
grant execute on function gateway.tree_members to voucher_gateway;
