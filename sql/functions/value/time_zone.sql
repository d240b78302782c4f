-- Returns the text with which `at time zone` means a time zone of this name. PostgreSQL reads the shortest names as
-- abbreviations, which have no summer time, and which a setting of the server (timezone_abbreviations) can change.
create or replace function gateway.time_zone(name text) returns text
language sql immutable parallel safe
return case when length(name) > 4 then name else
  case upper(name collate "C")
    when 'CET' then 'Europe/Brussels'
    when 'MET' then 'Europe/Brussels'
    when 'EET' then 'Europe/Athens'
    when 'WET' then 'Europe/Lisbon'
    when 'EST' then 'America/Panama'
    when 'MST' then 'America/Phoenix'
    when 'HST' then 'Pacific/Honolulu'
    when 'GMT' then 'Etc/UTC'
    when 'UCT' then 'Etc/UTC'
    when 'UTC' then 'Etc/UTC'
    when 'ZULU' then 'Etc/UTC'
    else name
  end
end;
grant execute on function gateway.time_zone to voucher_gateway_reader;
grant execute on function gateway.time_zone to voucher_gateway;
