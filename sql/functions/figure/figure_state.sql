-- Returns the state of a voucher for figures. The state of a voucher without a balance ends with `_without_balance`,
-- unless it is void: no sum of balances includes its payment.
--
-- state: the result of gateway.voucher_state.
create or replace function gateway.figure_state(state text, current_balance numeric) returns text
language sql immutable parallel safe
return state || case when current_balance is null and state <> 'void' then '_without_balance' else '' end;
grant execute on function gateway.figure_state to voucher_gateway;
