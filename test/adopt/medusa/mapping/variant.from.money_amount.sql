select variant_id from changed join public.product_variant_money_amount on money_amount_id = changed.id;
