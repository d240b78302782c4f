-- Returns the view of a type's select, or null when the mapping has no select for the type.
create or replace function gateway.view_of(mapped text) returns regclass
language sql stable
return to_regclass('pg_temp.mapped_' || mapped);
