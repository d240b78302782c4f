-- Returns the state of a sale, from the voucher's state for figures.
create or replace function gateway.sale_state(state text) returns text
language sql immutable parallel safe
return case when state = 'void' then 'void' when state like '%without_balance' then 'sold_without_balance' else 'sold' end;
grant execute on function gateway.sale_state to voucher_gateway;
