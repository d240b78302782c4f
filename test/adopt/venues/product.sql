select id as key, venue as tenant_id, 'item-' || left(id::text, 8) as slug, name as title, 'EUR' as currency,
       gateway.major_units(cents, 'EUR') as price
from shop.item
where active;
