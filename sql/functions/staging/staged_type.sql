-- Returns a type as SQL: text when this server has none of that name. What a platform says never becomes SQL as it is.
create or replace function gateway.staged_type(named text) returns text
language sql stable
return format_type(coalesce(to_regtype(named), 'text'), -1);
