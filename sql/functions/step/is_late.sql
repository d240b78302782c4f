-- Returns whether the time limit of the statement has passed. PostgreSQL raises only one error for it, so nothing
-- limits the time after that error.
create or replace function gateway.is_late() returns boolean
language sql volatile
return coalesce(clock_timestamp() >= statement_timestamp() + nullif(current_setting('statement_timeout')::interval, interval '0'), false);
