-- Returns the additions of a voucher to the figures of its tenant. gateway.add_voucher_figures must compare each column
-- that this function reads.
--
-- sign: 1 to add the voucher, -1 to subtract it, 0 when only its balance changed.
-- balance: the balance to add.
create or replace function gateway.figures_of(voucher gateway.voucher, sign integer, balance numeric) returns setof gateway.figure
language sql stable parallel safe
begin atomic
  select voucher.tenant_id, kind,
         case kind when 'balance' then voucher.ends_on::timestamp at time zone 'UTC'
                   when 'sale' then coalesce(gateway.half_hour(voucher.purchase_timestamp), '-infinity')
                   else coalesce(date_trunc('month', voucher.purchase_timestamp, 'UTC'), '-infinity') end,
         coalesce(voucher.currency, ''),
         case kind when 'balance' then gateway.figure_state(voucher.state, voucher.current_balance)
                   when 'sale' then gateway.sale_state(gateway.figure_state(voucher.state, voucher.current_balance))
                   when 'product' then case voucher.state when 'void' then 'void' else 'sold' end end,
         case kind when 'product' then coalesce(voucher.sold_product_id, 0) else 0 end, sign,
         case when kind <> 'balance' then sign * coalesce(voucher.initial_balance, 0) else 0 end,
         case when kind <> 'product' then coalesce(balance, 0) else 0 end,
         sign * coalesce(voucher.purchase_value, 0)
  from unnest(array['sale', 'balance', 'product']::gateway.figure_kind[]) kind
  where sign <> 0 or kind <> 'product';
end;
grant execute on function gateway.figures_of to voucher_gateway;
