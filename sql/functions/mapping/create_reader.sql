-- Creates a function that evaluates a text as voucher_gateway_reader. The text may run code of other owners, so its
-- subtransaction is rolled back, with all writes, settings and cursors; only the returned rows stay. The function has
-- no named variables, because the name of a variable would hide a missing column.
--
-- result: the type of its result, and its volatility.
-- is_safe: true when other owners can neither change nor replace the code (gateway.runs_only_ours). Then nothing is
-- rolled back, because a rollback takes as long as the read of a voucher. Steps always roll back, to release their
-- locks.
-- on_error: the statements that handle an error.
create or replace procedure gateway.create_reader(
  signature text, result text, statements text, is_safe boolean default false, reads_only boolean default true,
  on_error text default 'raise;')
language plpgsql
as $procedure$
begin
  execute gateway.filled('reader', jsonb_build_object(
    'signature', signature, 'result', result,
    'statements', case when is_safe then statements
      else concat(case when reads_only then 'perform set_config(''transaction_read_only'', ''on'', true); ' end, statements,
                  ' raise sqlstate ''VGW00'';') end,
    'on_error', case when is_safe then on_error
      else format('perform gateway.deallocate_prepared(); if sqlstate <> ''VGW00'' then %s end if;', on_error) end));
  call gateway.give_to_reader();
end $procedure$;
