-- The parts of a product besides its own row: its variants, and the categories to which it is linked.
--
-- A change to any of them stamps the product (R22). Row triggers queue the products, in sessions and in appliers (0009) alike,
-- and wait for no lock. At commit the transaction stamps the products that are not locked; after the commit, the service stamps
-- the others (gateway.process_stamp_queue, 0009). With locks, a worker of a subscription would wait for ever for a prepared
-- transaction, whose `commit prepared` comes later in its own stream.
--
-- A later stamp loses nothing: a client that has read the record before reads it again. The entry of a category always stays
-- for the service: a link that the transaction cannot see yet is visible by then, or comes with an entry of its own.

-- Records that need a new stamp because what they show has changed.
create table gateway.stamp_queue (
  id          bigint generated always as identity primary key,
  transaction xid8 not null default pg_current_xact_id(),
  product_id  bigint, -- Null: all products of the category; all products when that is null, too.
  category_id bigint,
  tenant_id   bigint, -- A tenant that needs a new stamp with all below it; the other columns are then null.
  -- A transaction has one entry for a product, for any number of changed variants, and transactions do not wait for
  -- each other.
  unique nulls not distinct (transaction, product_id, category_id, tenant_id)
);

-- Queues the products that show a row: the product of a variant or of a link, all products of a category, or all products
-- when a table is truncated. A new category is also queued, because an applier can insert its links before it.
create function gateway.queue_products() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if gateway.keeps_updated_at() or old *= new then
    return null;
  elsif tg_op = 'TRUNCATE' then
    insert into gateway.stamp_queue default values on conflict do nothing;
  elsif tg_table_name = 'category' then
    insert into gateway.stamp_queue (category_id)
    select id from (values (old.id), (new.id)) changed (id) where id is not null
    on conflict do nothing;
  else
    insert into gateway.stamp_queue (product_id)
    select product_id from (values (old.product_id), (new.product_id)) changed (product_id) where product_id is not null
    on conflict do nothing;
  end if;
  return null;
end $$;

call gateway.lock_against_writers('public.category', 'public.product', 'public.product_category', 'public.variant');

-- Postgres truncates categories only together with product_category, also in an applier.
create trigger queue_products after insert or update or delete on public.variant
  for each row execute function gateway.queue_products();
create trigger queue_products_on_truncate after truncate on public.variant
  for each statement execute function gateway.queue_products();
create trigger queue_products after insert or update or delete on public.product_category
  for each row execute function gateway.queue_products();
create trigger queue_products_on_truncate after truncate on public.product_category
  for each statement execute function gateway.queue_products();
create trigger queue_products after insert or update or delete on public.category
  for each row execute function gateway.queue_products();
alter table public.variant enable always trigger queue_products, enable always trigger queue_products_on_truncate;
alter table public.product_category enable always trigger queue_products, enable always trigger queue_products_on_truncate;
alter table public.category enable always trigger queue_products;

-- A product belongs to categories of its own tenant only: its record shows their titles. An applier can bring another link,
-- which the service does not show.

-- Raises the error for such a link.
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

-- Checks the tenants of new links. Locks the categories, then the products, each in the order of their ids, against
-- transactions that cannot see the link yet and move one of them to another tenant. Looks up each row by its key: a join that
-- was planned for a bulk insert would read the whole table for one row.
create function gateway.check_links() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform from public.category where id = any(array(select category_id from changed)) order by id for share;
  -- Not `for share`: the products are stamped at commit, and two writers with a shared lock would leave it to the service.
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
  perform gateway.reject_foreign_category(product.id, product.tenant_id, category.id, category.tenant_id)
    from public.product_category link
    join public.product on product.id = link.product_id
    join public.category on category.id = link.category_id
    where (link.product_id = case tg_table_name when 'product' then new.id end
           or link.category_id = case tg_table_name when 'category' then new.id end)
      and product.tenant_id <> category.tenant_id;
  return null;
end $$;

create constraint trigger check_links_of_moved after update on public.product
  deferrable initially deferred for each row
  when (old.tenant_id <> new.tenant_id) execute function gateway.check_links_of_moved();
create constraint trigger check_links_of_moved after update on public.category
  deferrable initially deferred for each row
  when (old.tenant_id <> new.tenant_id) execute function gateway.check_links_of_moved();
