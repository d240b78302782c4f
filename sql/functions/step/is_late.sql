-- Returns whether the time limit of the statement has passed. PostgreSQL raises only one error at the limit, so after
-- that error nothing limits the time of the statement.
create or replace function gateway.is_late() returns boolean
language sql volatile
return coalesce(clock_timestamp() >= statement_timestamp() + nullif(current_setting('statement_timeout')::interval, interval '0'), false);
