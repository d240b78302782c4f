-- Longer texts would make steps slow, because a search index has an entry for each three characters.
create or replace function gateway.length_error(name text, words text, longest integer default 100000) returns text
language sql stable parallel safe
return case when octet_length(words) > longest and (octet_length(words) > 4 * longest or length(words) > longest)
              then format('%s has more than %s characters', name, longest) end;
