select variant.id from changed cross join public.product_variant variant;
