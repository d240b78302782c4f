select product.id from changed cross join public.product;
