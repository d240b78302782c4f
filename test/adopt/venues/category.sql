select id as key, venue as tenant_id, 'collection-' || id as slug, name as title from shop.collections;
