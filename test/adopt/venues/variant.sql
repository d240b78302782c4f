select id as key, part_of as product_id, 'size-' || left(id::text, 8) as slug, name as title, 'EUR' as currency,
       gateway.major_units(cents, 'EUR') as price
from shop.item
where part_of is not null;
