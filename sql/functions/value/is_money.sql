-- Returns whether an amount is a multiple of its currency's minor unit (R12) and small enough (15 significant digits)
-- for a JSON number to be exact. NaN and infinity are no money, because they are greater than every number. Null is
-- valid.
create or replace function gateway.is_money(amount numeric, currency text) returns boolean
language sql immutable parallel safe
return amount is null
  or (currency is not null and amount >= 0 and amount < 1e12
      and scale(trim_scale(amount)) <= gateway.minor_unit_digits(currency));
