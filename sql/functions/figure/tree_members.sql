-- Returns each tenant that has others below it as an ancestor: with itself, and with each tenant below it.
create or replace function gateway.tree_members() returns setof gateway.figure_member
language sql stable
begin atomic
  select ancestor, unnest(array[ancestor, tenant_id]) from gateway.tenant_path, unnest(path[2:]) ancestor group by 1, 2;
end;
grant execute on function gateway.tree_members to voucher_gateway;
