-- Replaces each name in braces in a template by its value, and null by an empty text.
create or replace function gateway.filled(template_name text, names jsonb) returns text
language plpgsql stable
as $$
declare
  part text[];
  result text := '';
begin
  for part in select regexp_matches(text, '(.*?)(?:\{([a-z_]+)\}|$)', 'g') from gateway.template where name = template_name loop
    if part[2] is not null and not names ? part[2] then
      raise exception 'the template % has no value for %', template_name, part[2];
    end if;
    result := concat(result, part[1], names ->> part[2]);
  end loop;
  return result;
end $$;
