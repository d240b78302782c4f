select card.id
from changed join public.line_item item on variant_id = changed.id join public.gift_card card on card.order_id = item.order_id;
