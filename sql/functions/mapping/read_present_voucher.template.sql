-- Evaluates the mapping for one voucher now; returns no row when the source has none. Rules are checked only when the
-- voucher differs from its record. When the evaluation fails, returns the record. Volatile: takes its snapshot after
-- waiting for locks, because an older one sees a rewritten table as empty.
create or replace function gateway.read_present_voucher(present_id bigint) returns setof gateway.present_voucher
language plpgsql volatile security definer rows 1 set search_path = pg_catalog, pg_temp set row_security = off
as $body$
declare
  assigns constant boolean := false;
  source constant gateway.evaluated_voucher := gateway.read_present({key_of_id});
  present gateway.present_voucher;
  is_record boolean;
begin
  if source.failure is not null then
    return query select voucher::gateway.voucher_fields, null::text, source.failure from gateway.voucher where id = present_id;
  elsif source.keys is not null then
    select fresh, source.customer_name, fresh is not distinct from stale::gateway.voucher_fields
    into present.voucher, present.customer_name, is_record
    from (select {voucher} as fresh) evaluated
    left join gateway.voucher stale on stale.id = present_id;
    -- This is a separate statement, because preparing the rules takes longer than reading the voucher.
    if not is_record then
      present.error := coalesce(
        gateway.error_of(present.voucher),
        (select 'tenant_id names no tenant' where not exists (select from gateway.tenant where tenant.id = (present.voucher).tenant_id)));
    end if;
    return next present;
  end if;
end $body$;
