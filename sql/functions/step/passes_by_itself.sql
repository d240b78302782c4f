-- Returns whether an error is temporary: a conflict, a lack of memory or disk, a stopping server, or a failure of the
-- system. Neither a key nor a mapping causes such an error. So the error ends the step or the check, and the next step
-- or check repeats all of the work (I9).
create or replace function gateway.passes_by_itself(code text) returns boolean
language sql immutable parallel safe
return left(code, 2) in ('40', '53', '57', '58');
