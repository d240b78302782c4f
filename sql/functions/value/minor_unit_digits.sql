-- Returns the number of digits of a currency after the decimal point (ISO 4217): 0, 2 or 3.
create or replace function gateway.minor_unit_digits(currency text) returns integer
language sql immutable parallel safe
return case
  when currency in ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND',
                    'VUV', 'XAF', 'XOF', 'XPF') then 0
  when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 3
  else 2
end;
grant execute on function gateway.minor_unit_digits to voucher_gateway_reader;
