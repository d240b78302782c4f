-- Returns the results of gateway.id_of for keys, in their order.
create or replace function gateway.ids_of(type gateway.record_type, keys text[], assigns boolean) returns bigint[]
language sql
return array(
  select case when (select key_type from gateway.mapping where record = type) = 'bigint' and gateway.is_key(key, 'bigint') then key::bigint
              else gateway.id_of(type::text, key, assigns) end
  from unnest(keys) with ordinality as given (key, place) order by place);
