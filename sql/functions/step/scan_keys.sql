-- Returns the result of gateway.scan_<type>: the next keys of a type.
create or replace function gateway.scan_keys(
  type gateway.record_type, after text, at_most integer, out keys text[], out reached text, out lost bigint)
language plpgsql stable
as $$
begin
  execute format('select * from gateway.scan_%s($1, $2)', type) into keys, reached, lost using after, at_most;
end $$;
