-- Shortens a text that is longer than v1 shows, because each statement of a step would copy the rest.
create or replace function gateway.bounded(words text, longest integer) returns text
language sql immutable parallel safe
return case when octet_length(words) > 4 * longest then left(words, longest + 1) else words end;

-- Returns the texts, or only one too long text if any of them is too long. It checks the stored size first, which takes
-- no time.
create or replace function gateway.bounded(words text[], longest integer) returns text[]
language sql stable parallel safe
return case when pg_column_size(words) < longest / 25 then words
            when cardinality(words) > 10000 then words[:10001]
            when octet_length(words::text) > 4 * longest then array[repeat(' ', longest + 1)] else words end;
grant execute on function gateway.bounded(text, integer) to voucher_gateway_reader;
grant execute on function gateway.bounded(text[], integer) to voucher_gateway_reader;
