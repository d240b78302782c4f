-- Returns a digest of the rows related to a product: its categories with the same tenant, and its variants.
create or replace function gateway.product_content(product_id bigint, tenant_id bigint, category_ids bigint[]) returns text
language sql stable
begin atomic
  select md5(concat_ws(' ',
    (select json_agg(category order by id) from gateway.category
     where category.id = any(product_content.category_ids) and category.tenant_id = product_content.tenant_id),
    (select json_agg(variant order by id) from gateway.variant where variant.product_id = product_content.product_id)));
end;
