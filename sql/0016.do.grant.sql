-- No login but the service may call a function of the gateway. Triggers need no right to fire.
revoke execute on all functions in schema gateway from public;
revoke execute on all procedures in schema gateway from public;
grant execute on all functions in schema gateway to voucher_gateway;
