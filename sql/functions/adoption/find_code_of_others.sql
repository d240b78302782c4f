-- Returns the owners of the code that a mapping runs, which gateway.prepare_mapping has recorded.
create or replace function gateway.find_code_of_others(mapped gateway.record_type) returns setof gateway.finding
language sql stable
begin atomic
  select 'warning', format('It runs code of %s: %s', owner, string_agg(distinct object, ', ')),
         format('Give these to a role that you trust: %s decides what v1 shows, and may read all that voucher_gateway_reader may', owner),
         null::jsonb
  from gateway.mapping, jsonb_to_recordset(code) as code (owner text, object text) where record = mapped group by owner order by owner;
end;
