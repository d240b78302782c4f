select variant.id as key, product_id, coalesce(sku, variant.id) as slug, variant.title, upper(default_currency_code) as currency,
       (select gateway.major_units(min(amount), default_currency_code)
        from public.product_variant_money_amount link join public.money_amount price on price.id = money_amount_id
        where variant_id = variant.id and currency_code = default_currency_code and price_list_id is null
          and link.deleted_at is null and price.deleted_at is null) as price,
       true as is_monetary, variant_rank as sort_order
from public.product_variant variant
join public.product on product.id = product_id
cross join public.store
where is_giftcard and variant.deleted_at is null;
