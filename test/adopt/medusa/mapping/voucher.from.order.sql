select card.id from changed join public.gift_card card on order_id = changed.id;
