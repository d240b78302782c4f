-- Returns the name of a function for a table. It has a digest of the table's name if PostgreSQL would cut the full
-- name.
create or replace function gateway.function_of(table_name text, purpose text) returns text
language sql immutable
return format('gateway.%I', purpose || case when octet_length(purpose || table_name) < 64 then table_name else md5(table_name) end);
