-- The references of views, from pg_depend: relations, their columns, functions and operators.
create or replace view gateway.view_reference as
select ev_class as reader, refclassid, refobjid, refobjsubid
from pg_rewrite join pg_depend on objid = pg_rewrite.oid and classid = 'pg_rewrite'::regclass;
