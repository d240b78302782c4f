select id as key, tenant_id, slug, title, summary, description_html, currency, price, sale_price, monetary_value, is_monetary,
       allow_part_redeem, validity_type, validity_months, redemption_info, sort_order, image_url, image_urls,
       array(select category_id from public.product_category where product_id = product.id order by category_id) as category_ids
from public.product
