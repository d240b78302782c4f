create or replace function gateway.text_error(name text, words text, longest integer default 100000) returns text
language sql stable parallel safe
return case when words = '' then name || ' is empty' else gateway.length_error(name, words, longest) end;
