select card.id from changed join public.gift_card card on region_id = changed.id;
