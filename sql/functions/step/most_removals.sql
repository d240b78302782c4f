-- Returns the maximum number of records of a type that steps may remove without the permission of an operator. The
-- number for tenants is lower, because all lists of a tenant are removed with it.
create or replace function gateway.most_removals(type gateway.record_type, records bigint) returns bigint
language sql immutable
return greatest(records / 10, case type when 'tenant' then least(records / 2, 10) else least(greatest(records / 2, 20), 1000) end);
