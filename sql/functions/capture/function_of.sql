-- Returns the name of a function that is made for a table: with a digest of its name when PostgreSQL would cut the whole one.
create or replace function gateway.function_of(table_name text, purpose text) returns text
language sql immutable
return format('gateway.%I', purpose || case when octet_length(purpose || table_name) < 64 then table_name else md5(table_name) end);
