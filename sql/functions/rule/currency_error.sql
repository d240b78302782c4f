create or replace function gateway.currency_error(currency text) returns text
language sql stable parallel safe
return case when (currency collate "C") !~ '^[A-Z]{3}$' then 'currency is not three capital letters: ' || left(currency, 20) end;
