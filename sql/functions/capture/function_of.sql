-- Returns the name of a function for a table. If PostgreSQL would cut the full name, the name has a digest of the
-- table's name.
create or replace function gateway.function_of(table_name text, purpose text) returns text
language sql immutable
return format('gateway.%I', purpose || case when octet_length(purpose || table_name) < 64 then table_name else md5(table_name) end);
