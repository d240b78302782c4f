-- The functions of gateway.create_reader that do not belong to the reader, because pg_restore --no-owner has given them
-- to the login that ran it.
create or replace view gateway.misplaced_reader as
select oid::regprocedure as reader from pg_proc
where pronamespace = 'gateway'::regnamespace and prosecdef and prosrc like '%voucher_gateway_reader: run the command migrate%'
  and pg_get_userbyid(proowner) <> 'voucher_gateway_reader';
