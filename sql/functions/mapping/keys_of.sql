-- Returns the keys of ids.
create or replace function gateway.keys_of(type gateway.record_type, ids bigint[]) returns text[]
language sql stable
return array(
  select coalesce((select key from gateway.identity where kind = type::text and id = given and given >= 9000000000000000), given::text)
  from unnest(ids) given);
