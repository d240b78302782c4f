select "No" as key, card.venue as tenant_id, code as reference, gateway.major_units("valueCents", card.currency) as initial_balance,
       gateway.major_units("valueCents" - coalesce((select sum(cents) from shop.redemption where redemption.card = card."No"), 0), card.currency)
         as current_balance,
       currency, coalesce(latest.state, card.state) = 'blocked' as void, latest.reason as void_reason,
       item as product_id, item.name as product_title, "orderNo" as order_id, "orderNo" || '/' || line as order_item_id,
       coalesce(paid_at, sold_at) at time zone venue.zone as purchase_timestamp, gateway.last_day(expires_at, venue.zone) as date_valid_end,
       sold_at at time zone venue.zone as created_at
from shop."Gift Card" card
join shop.venue on venue.id = card.venue
left join shop.item on item.id = card.item
left join lateral (select state, reason from shop.card_status where card_status.card = card."No" order by at desc limit 1) latest on true
left join (shop.order_line left join shop.orders using ("orderNo", placed_at)) on order_line.card = card."No"
where deleted_at is null;
