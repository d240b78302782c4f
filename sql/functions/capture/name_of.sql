-- Returns the name of a relation with its schema.
create or replace function gateway.name_of(relation regclass) returns text
language sql stable
return (select format('%I.%I', nspname, relname)
        from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = relation);
