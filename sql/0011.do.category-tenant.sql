-- A product belongs to categories of its own tenant only: its record shows their titles.
--
-- An applier (`session_replication_role = replica`) is not stopped by a link that breaks this. The service reads only
-- categories of the product's tenant, so it does not show such a link.

lock table public.product, public.category, public.product_category in share row exclusive mode;

do $$
declare
  number bigint;
  examples text;
begin
  select max(total), string_agg(format('product %s of tenant %s in category %s of tenant %s',
                                       product_id, product_tenant, category_id, category_tenant), ', ')
  into number, examples
  from (
    select link.product_id, product.tenant_id as product_tenant, link.category_id, category.tenant_id as category_tenant,
           count(*) over () as total
    from public.product_category link
    join public.product on product.id = link.product_id
    join public.category on category.id = link.category_id
    where product.tenant_id <> category.tenant_id
    order by link.product_id, link.category_id limit 5
  ) found;
  if number > 0 then
    raise exception 'product_category holds % of a product in a category of another tenant: %.',
      case when number = 1 then '1 row' else number || ' rows' end, examples || case when number > 5 then ', …' else '' end
      using errcode = 'check_violation',
            hint = 'Delete these rows, then migrate again: delete from product_category link using product, category '
                   'where product.id = link.product_id and category.id = link.category_id '
                   'and product.tenant_id <> category.tenant_id;';
  end if;
end $$;

create function gateway.refuse_foreign_category(
  product_id bigint, product_tenant bigint, category_id bigint, category_tenant bigint
) returns void
language plpgsql
as $$
begin
  raise exception 'product % of tenant % cannot be in category % of tenant %',
    product_id, product_tenant, category_id, category_tenant
    using errcode = 'check_violation', table = 'product_category', constraint = 'product_category_tenant';
end $$;

-- Takes the place of gateway.share_categories (0008), which locked no products and, for a loader, nothing. The locks
-- make a link wait for those who move its product or its category to another tenant, and make them wait for the link.
-- A session keeps the plans of its first statement. So these look up each row by its id, for one link and for many: a
-- join that was planned for many would read the whole tables for one.
create function gateway.check_links() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- In the order of their ids, categories first, as all who lock several.
  perform from public.category where id = any(array(select category_id from changed)) order by id for share;
  if current_setting('session_replication_role') <> 'replica' then
    -- Not `for share`: the products are updated next, and two writers with a shared lock would wait for each other.
    perform from public.product where id = any(array(select product_id from changed)) order by id for no key update;
    perform gateway.refuse_foreign_category(product_id, product_tenant, category_id, category_tenant)
      from (
        select product_id, (select tenant_id from public.product where id = product_id) as product_tenant,
               category_id, (select tenant_id from public.category where id = category_id) as category_tenant
        from changed
      ) link
      where product_tenant <> category_tenant;
  end if;
  return null;
end $$;

drop trigger a_share_categories_on_insert on public.product_category;
drop trigger a_share_categories_on_update on public.product_category;
drop function gateway.share_categories();

-- Triggers run in the order of their names: this is before products are moved, and so locked.
create trigger a_check_links_on_insert after insert on public.product_category
  referencing new table as changed
  for each statement execute function gateway.check_links();
create trigger a_check_links_on_update after update on public.product_category
  referencing new table as changed
  for each statement execute function gateway.check_links();
alter table public.product_category enable always trigger a_check_links_on_insert;
alter table public.product_category enable always trigger a_check_links_on_update;

-- At commit, so that a transaction can move a category and its products one after the other. A snapshot that is older
-- than the lock would not show a link that was committed meanwhile.
create function gateway.check_links_of_moved() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception '% % moves to another tenant under READ COMMITTED only', tg_table_name, new.id
      using errcode = 'active_sql_transaction';
  end if;
  if tg_table_name = 'product' then
    perform gateway.refuse_foreign_category(product.id, product.tenant_id, category.id, category.tenant_id)
      from public.product
      join public.product_category link on link.product_id = product.id
      join public.category on category.id = link.category_id
      where product.id = new.id and product.tenant_id <> category.tenant_id;
  else
    perform gateway.refuse_foreign_category(product.id, product.tenant_id, category.id, category.tenant_id)
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
