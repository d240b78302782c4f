-- Returns whether a text contains another text, in any case.
create or replace function gateway.has_text(words text, part text) returns boolean
language sql immutable parallel safe
return position(gateway.folded(part) in gateway.folded(words)) > 0;
grant execute on function gateway.has_text to voucher_gateway;
