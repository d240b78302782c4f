-- Returns a regular expression that matches a text literally.
create or replace function gateway.pattern_of(words text) returns text
language sql immutable parallel safe
return regexp_replace(words, '(\W)', '\\\1', 'g');
