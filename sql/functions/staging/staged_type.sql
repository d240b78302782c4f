-- Returns the SQL of a type, or `text` when this server has no type of that name. Text from a platform is never used as
-- SQL unchecked.
create or replace function gateway.staged_type(named text) returns text
language sql stable
return format_type(coalesce(to_regtype(named), 'text'), -1);
