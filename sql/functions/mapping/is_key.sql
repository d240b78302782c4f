-- Returns whether a text is PostgreSQL's text of a value of a key's type.
create or replace function gateway.is_key(key text, key_type text) returns boolean
language sql immutable parallel safe
return case key_type
  when 'text' then true
  when 'uuid' then key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  else case when key ~ '^(0|-?[1-9][0-9]{0,18})$' then key::numeric between -9223372036854775808 and 9223372036854775807 end end;
