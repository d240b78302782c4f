select card.id from changed join public.gift_card card on card.order_id = changed.order_id;
