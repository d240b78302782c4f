-- Creates a function that evaluates a text as voucher_gateway_reader. What it runs may belong to others: it writes nothing, and its
-- settings and cursors end with the subtransaction, which is rolled back; the rows that it returns stay. A name of a variable would
-- hide a column that is missing.
--
-- result: the type that it returns, and its volatility.
-- is_safe: whether it runs nothing that others made or may replace (gateway.runs_only_ours): then nothing is rolled back, which
-- takes as long as a voucher's read. Steps also roll back to release their locks.
-- on_error: what it does with an error.
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
