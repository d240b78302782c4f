select id as key, venue as tenant_id, 'item-' || left(id::text, 8) as slug, name as title, 'EUR' as currency,
       gateway.major_units(cents, 'EUR') as price, summary,
       array(select url from shop.picture where picture.item = item.id order by place) as image_urls,
       array(select collection from shop."Item in Collection" link where link.item = item.id) as category_ids
from shop.item
left join shop.translations on translations.item = item.id and language = 'en'
where active and part_of is null;
