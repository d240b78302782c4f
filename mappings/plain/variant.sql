select id as key, product_id, slug, title, price, sale_price, currency, is_monetary, sort_order from public.variant
