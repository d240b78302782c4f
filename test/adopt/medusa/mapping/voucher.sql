-- Medusa does not store which item of an order created a gift card, so the item with the same value is used. Medusa
-- disables a spent card too, but a spent card is not void.
select card.id as key, 1 as tenant_id, code as reference,
       gateway.major_units(value, region.currency_code) as initial_balance,
       gateway.major_units(balance, region.currency_code) as current_balance,
       gateway.major_units(unit_price, region.currency_code) as purchase_value,
       upper(region.currency_code) as currency, true as is_monetary, true as allow_part_redeem,
       is_disabled and balance > 0 or coalesce(status = 'canceled', false) as void,
       card.order_id, item.id as order_item_id,
       variant_id as product_id, title as product_title, product_id as parent_product_id, title as parent_product_title,
       sale.created_at as purchase_timestamp, card.created_at as date_issued,
       gateway.last_day(ends_at, 'Europe/Berlin') as date_valid_end,
       nullif(concat_ws(' ', first_name, last_name), '') as customer_name, card.created_at
from public.gift_card card
join public.region on region.id = card.region_id
left join public."order" sale on sale.id = card.order_id
left join public.customer on customer.id = customer_id
left join lateral (
  select line_item.id, line_item.title, unit_price, variant_id, product_id
  from public.line_item join public.product_variant variant on variant.id = variant_id
  where order_id = card.order_id and is_giftcard
  order by unit_price <> card.value, line_item.id limit 1
) item on true
where card.deleted_at is null;
