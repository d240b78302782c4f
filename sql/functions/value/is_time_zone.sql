-- Returns whether a text is the name of an IANA time zone that this server knows.
create or replace function gateway.is_time_zone(name text) returns boolean
language plpgsql stable
as $$
begin
  perform now() at time zone gateway.time_zone(name);
  return gateway.has_time_zone_form(name);
exception when invalid_parameter_value then
  return false;
end $$;
