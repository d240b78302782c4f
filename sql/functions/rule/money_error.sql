create or replace function gateway.money_error(name text, amount numeric, currency text) returns text
language sql stable parallel safe
return case when not gateway.is_money(amount, currency)
            then format('%s is not an amount of the currency %s: %s', name, coalesce(currency, '(none)'), left(amount::text, 100)) end;
