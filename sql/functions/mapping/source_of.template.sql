-- Evaluates the mapping for some keys, and gives ids to the keys in it that have none, as gateway.id_of does.
create or replace function gateway.source_of_{record}(keys text[], assigns boolean) returns setof gateway.{record}_fields
language sql stable
as $body$
  select {fields} from gateway.read_{record}(array(select key from unnest(keys) key where gateway.is_key(key, '{key_type}'))) as mapping ({shape})
$body$;
