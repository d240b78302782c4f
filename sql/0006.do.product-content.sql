-- What a product shows beside its own row: its variants, and the categories to which it is linked.
--
-- A change to any of them stamps the product (R22). Here this is done for ordinary sessions, by triggers that run once for
-- a statement. Appliers set off row triggers only; 0009 has those.

-- Stamps the products that show what a statement changed; a truncation names no rows, so it stamps all products. Locks the
-- products in the order of their ids, so that two writers of the same products do not deadlock.
--
-- The products are collected first and looked up by their keys. A session keeps its first plans: a join that was planned
-- for a bulk insert would read the whole table for one row.
create function gateway.stamp_products() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  concerned bigint[];
begin
  if gateway.keeps_updated_at() then
    return null;
  end if;
  if tg_op = 'TRUNCATE' then
    update public.product set updated_at = clock_timestamp();
    return null;
  elsif tg_table_name = 'category' then
    concerned := array(
      select distinct link.product_id
      from (table changed except all table gone) as category
      join public.product_category link on link.category_id = category.id);
  elsif tg_op = 'INSERT' then
    concerned := array(select distinct product_id from changed);
  elsif tg_op = 'DELETE' then
    concerned := array(select distinct product_id from gone);
  else
    concerned := array(select distinct product_id from ((table changed except all table gone)
                                                        union all (table gone except all table changed)) as shown);
  end if;
  perform from public.product where id = any(concerned) order by id for no key update;
  update public.product set updated_at = clock_timestamp() where id = any(concerned);
  return null;
end $$;

call gateway.lock_against_writers('public.category', 'public.product', 'public.product_category', 'public.variant');

create trigger stamp_products_on_insert after insert on public.variant
  referencing new table as changed for each statement execute function gateway.stamp_products();
create trigger stamp_products_on_update after update on public.variant
  referencing old table as gone new table as changed for each statement execute function gateway.stamp_products();
create trigger stamp_products_on_delete after delete on public.variant
  referencing old table as gone for each statement execute function gateway.stamp_products();
create trigger stamp_products_on_truncate after truncate on public.variant
  for each statement execute function gateway.stamp_products();

create trigger stamp_products_on_insert after insert on public.product_category
  referencing new table as changed for each statement execute function gateway.stamp_products();
create trigger stamp_products_on_update after update on public.product_category
  referencing old table as gone new table as changed for each statement execute function gateway.stamp_products();
create trigger stamp_products_on_delete after delete on public.product_category
  referencing old table as gone for each statement execute function gateway.stamp_products();
create trigger stamp_products_on_truncate after truncate on public.product_category
  for each statement execute function gateway.stamp_products();

-- An insert or a deletion of a category needs none: links reference it, and they come after it and go before it.
create trigger stamp_products_on_update after update on public.category
  referencing old table as gone new table as changed for each statement execute function gateway.stamp_products();

-- A product belongs to categories of its own tenant only: its record shows their titles. An applier can bring a link that
-- breaks this; the service reads the categories of the product's tenant only, so it does not show such a link.

-- Raises the error of such a link.
create function gateway.reject_foreign_category(
  product_id bigint, product_tenant bigint, category_id bigint, category_tenant bigint
) returns void
language plpgsql
as $$
begin
  raise exception 'product % of tenant % cannot be in category % of tenant %',
    product_id, product_tenant, category_id, category_tenant
    using errcode = 'check_violation', table = 'product_category', constraint = 'product_category_tenant';
end $$;

-- Checks the tenants of new links. Locks the categories, then the products, each in the order of their ids: so a link
-- waits for transactions that change its category, which cannot see the link yet, or that move its product to another
-- tenant, and makes them wait. Looks up each row by its key, as gateway.stamp_products does.
create function gateway.check_links() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform from public.category where id = any(array(select category_id from changed)) order by id for share;
  -- Not `for share`: the products are updated next, and two writers with a shared lock would deadlock.
  perform from public.product where id = any(array(select product_id from changed)) order by id for no key update;
  perform gateway.reject_foreign_category(product_id, product_tenant, category_id, category_tenant)
    from (
      select product_id, (select tenant_id from public.product where id = product_id) as product_tenant,
             category_id, (select tenant_id from public.category where id = category_id) as category_tenant
      from changed
    ) link
    where product_tenant <> category_tenant;
  return null;
end $$;

-- Triggers of one event run in the order of their names: the locks are taken before the products are stamped.
create trigger a_check_links_on_insert after insert on public.product_category
  referencing new table as changed for each statement execute function gateway.check_links();
create trigger a_check_links_on_update after update on public.product_category
  referencing new table as changed for each statement execute function gateway.check_links();

-- Checks the links of a product or a category that moved to another tenant. It runs at commit, so a transaction can move a
-- category and its products in any order. Needs READ COMMITTED: a snapshot older than the lock would not show a link that
-- was committed in between.
create function gateway.check_links_of_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception '% % moves to another tenant under READ COMMITTED only', tg_table_name, new.id
      using errcode = 'active_sql_transaction';
  end if;
  if tg_table_name = 'product' then
    perform gateway.reject_foreign_category(product.id, product.tenant_id, category.id, category.tenant_id)
      from public.product
      join public.product_category link on link.product_id = product.id
      join public.category on category.id = link.category_id
      where product.id = new.id and product.tenant_id <> category.tenant_id;
  else
    perform gateway.reject_foreign_category(product.id, product.tenant_id, category.id, category.tenant_id)
      from public.category
      join public.product_category link on link.category_id = category.id
      join public.product on product.id = link.product_id
      where category.id = new.id and product.tenant_id <> category.tenant_id;
  end if;
  return null;
end $$;

create constraint trigger check_links_of_moved after update on public.product
  deferrable initially deferred for each row
  when (old.tenant_id <> new.tenant_id) execute function gateway.check_links_of_moved();
create constraint trigger check_links_of_moved after update on public.category
  deferrable initially deferred for each row
  when (old.tenant_id <> new.tenant_id) execute function gateway.check_links_of_moved();

-- A change of a category concerns the products in it, a truncation all products.
create trigger require_read_committed after update on public.category
  for each row when (old.* is distinct from new.* and not gateway.keeps_updated_at())
  execute function gateway.require_read_committed('A change');
create trigger a_require_read_committed before truncate on public.variant
  for each statement execute function gateway.require_read_committed('A truncation');
create trigger a_require_read_committed before truncate on public.product_category
  for each statement execute function gateway.require_read_committed('A truncation');
