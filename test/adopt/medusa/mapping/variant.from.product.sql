select variant.id from changed join public.product_variant variant on product_id = changed.id;
