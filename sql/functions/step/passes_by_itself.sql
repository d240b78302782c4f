-- Returns whether an error passes by itself: a conflict, a lack of memory or disk, a server that stops, a failure of the system. No key
-- and no mapping causes it, so a step or a check that meets it ends, and the next one does all of it again (I9).
create or replace function gateway.passes_by_itself(code text) returns boolean
language sql immutable parallel safe
return left(code, 2) in ('40', '53', '57', '58');
