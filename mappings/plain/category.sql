select id as key, tenant_id, slug, title, sort_order from public.category
