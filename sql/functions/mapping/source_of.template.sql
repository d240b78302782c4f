-- Evaluates the mapping for the given keys. gateway.id_of gives ids to keys without an id.
create or replace function gateway.source_of_{record}(keys text[], assigns boolean) returns setof gateway.{record}_fields
language sql stable
as $body$
  select {fields} from gateway.read_{record}(array(select key from unnest(keys) key where gateway.is_key(key, '{key_type}'))) as mapping ({shape})
$body$;
