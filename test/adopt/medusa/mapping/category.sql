select id as key, 1 as tenant_id, handle as slug, name as title, rank as sort_order
from public.product_category
where is_active and not is_internal;
