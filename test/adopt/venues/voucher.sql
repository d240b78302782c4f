select "No" as key, card.venue as tenant_id, code as reference, gateway.major_units("valueCents", card.currency) as initial_balance,
       gateway.major_units("valueCents" - coalesce((select sum(cents) from shop.redemption where redemption.card = card."No"), 0), card.currency)
         as current_balance,
       currency, state = 'blocked' as void, item as product_id, item.name as product_title,
       sold_at at time zone venue.zone as purchase_timestamp, gateway.last_day(expires_at, venue.zone) as date_valid_end,
       sold_at at time zone venue.zone as created_at
from shop."Gift Card" card
join shop.venue on venue.id = card.venue
left join shop.item on item.id = card.item
where deleted_at is null;
