select product.id as key, 1 as tenant_id, coalesce(handle, product.id) as slug, title, subtitle as summary, description as description_html,
       upper(default_currency_code) as currency, true as is_monetary, true as allow_part_redeem, thumbnail as image_url,
       (product.metadata ->> 'validity_months')::integer as validity_months,
       array(select url from public.product_images link join public.image on image.id = image_id
             where link.product_id = product.id order by image.id) as image_urls,
       array(select product_category_id from public.product_category_product link where link.product_id = product.id) as category_ids
from public.product
cross join public.store
where is_giftcard and status = 'published' and deleted_at is null;
