-- What a subscription brings: its apply worker sets off row triggers, and of statement triggers only those of truncate.
-- So statement triggers that record removals and move products get twins by row. Exactly one of both fires: the first in
-- ordinary sessions (`enable`), the second in appliers and wherever `session_replication_role = replica` (`enable replica`).
--
-- The twins take no lock that the publisher did not take for the same change, and refuse nothing. An apply worker that
-- waits for a row of a prepared transaction waits for ever: the `commit prepared` comes later in its own stream. Beside
-- a transaction that is applied while it is streamed (`streaming = parallel`, the default from PostgreSQL 18 on), it
-- fails with a deadlock. On the publisher, two transactions change two variants of one product without waiting; if each
-- updated the product here, the second would. So a twin only records which products have to be moved, and
-- gateway.move_pending_products moves them after the commit.
--
-- To move them later loses nothing: a product is stamped after what it shows can be seen, so a client that has read it
-- before reads it again. It needs no order among tables, either: what cannot be seen yet when a product is looked for
-- (a product, or a link, of another worker that copies its table) will be seen after the change that moves it.

create table gateway.pending_move (
  id          bigint generated always as identity primary key,
  transaction xid8 not null default pg_current_xact_id(),
  product_id  bigint,
  category_id bigint,
  -- Once for a transaction, however many variants of a product it changes; and no two transactions wait for each other.
  unique nulls not distinct (transaction, product_id, category_id)
);
comment on table gateway.pending_move is 'Products whose variants, links or categories an applier changed, until they get a stamp: gateway.move_pending_products';
comment on column gateway.pending_move.product_id is 'Null: all products of the category; of all categories, when that is null, too';
comment on column gateway.pending_move.category_id is 'Beside a product: the category to which it was linked';

create function gateway.record_variant_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    if tg_op <> 'INSERT' then
      insert into gateway.pending_move (product_id) values (old.product_id) on conflict do nothing;
    end if;
    if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.product_id <> old.product_id then
      insert into gateway.pending_move (product_id) values (new.product_id) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

create function gateway.record_link_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    if tg_op <> 'INSERT' then
      insert into gateway.pending_move (product_id) values (old.product_id) on conflict do nothing;
    end if;
    if tg_op <> 'DELETE' then
      insert into gateway.pending_move (product_id, category_id) values (new.product_id, new.category_id)
        on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

-- Inserts, too: a link can be there before its category.
create function gateway.record_category_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    if tg_op <> 'INSERT' then
      insert into gateway.pending_move (category_id) values (old.id) on conflict do nothing;
    end if;
    if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.id <> old.id then
      insert into gateway.pending_move (category_id) values (new.id) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

create function gateway.record_all_moves() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    insert into gateway.pending_move (product_id) values (null) on conflict do nothing;
  end if;
  return null;
end $$;

-- Takes the list's name and, as gateway.note_removed, the tenant whose list it is.
create function gateway.note_removed_row() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into gateway.removal (resource, tenant_id, record_id, reason)
  values (tg_argv[0], old.tenant_id, old.id, 'deleted');
  return null;
end $$;

create trigger note_removed_row after delete on public.product
  for each row execute function gateway.note_removed_row('catalog_voucher');
create trigger note_removed_row after delete on public.purchased_voucher
  for each row execute function gateway.note_removed_row('purchased_voucher');
create trigger note_removed_row after delete on public.customer
  for each row when (old.marketing_opted) execute function gateway.note_removed_row('marketing_signup');

create trigger record_moves_of_row after insert or delete on public.variant
  for each row execute function gateway.record_variant_moves();
create trigger record_moves_of_changed_row after update on public.variant
  for each row when (old.* is distinct from new.*) execute function gateway.record_variant_moves();
create trigger record_moves_of_row after insert or delete on public.product_category
  for each row execute function gateway.record_link_moves();
create trigger record_moves_of_changed_row after update on public.product_category
  for each row when (old.* is distinct from new.*) execute function gateway.record_link_moves();
create trigger record_moves_of_row after insert or delete on public.category
  for each row execute function gateway.record_category_moves();
create trigger record_moves_of_changed_row after update on public.category
  for each row when (old.* is distinct from new.*) execute function gateway.record_category_moves();

create trigger record_moves_on_truncate after truncate on public.variant
  for each statement execute function gateway.record_all_moves();
create trigger record_moves_on_truncate after truncate on public.product_category
  for each statement execute function gateway.record_all_moves();
-- None of category: Postgres truncates it only together with product_category, in an applier as elsewhere.

do $$
declare
  found record;
begin
  for found in
    select tgrelid::regclass as name, tgname,
           tgname in ('note_removed_row', 'record_moves_of_row', 'record_moves_of_changed_row',
                      'record_moves_on_truncate') as of_appliers
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and relnamespace = 'public'::regnamespace
      and tgname in ('note_removed_row', 'record_moves_of_row', 'record_moves_of_changed_row', 'record_moves_on_truncate',
                     'move_products', 'move_products_on_insert', 'move_products_on_update', 'move_products_on_delete',
                     'move_products_on_truncate', 'a_check_links_on_insert', 'a_check_links_on_update', 'note_removed')
      -- That of tenants is a row trigger already (sql/0013).
      and not (tgname = 'note_removed' and relname = 'tenant')
  loop
    execute format('alter table %s enable %s trigger %I', found.name,
                   case when found.of_appliers then 'replica' else '' end, found.tgname);
  end loop;
end $$;

-- Stamps the products of some of what is pending, oldest first, and waits for nothing: a product that is locked, or the
-- category of a new link that is locked, is left for the next pass. A category is locked by who changes it, and had
-- looked for its products before the link could be seen (gateway.move_products_of_category): so the product has to be
-- stamped after that. The locks taken here are those of a session that links (gateway.check_links), in the same order.
--
-- Returns where to go on, or null at the end.
create function gateway.move_pending_products(after bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  batch constant bigint[] := array(
    select id from gateway.pending_move where id > after order by id limit 1000 for update skip locked);
  linked bigint[];
  free bigint[];
  due bigint[];
  moved bigint[];
begin
  if batch = '{}' then
    return null;
  end if;

  -- Many products at a time: each gets its own row, which comes later in the same pass.
  with taken as (
    delete from gateway.pending_move where id = any(batch) and product_id is null returning category_id
  )
  insert into gateway.pending_move (product_id)
  select product_id from public.product_category
  where category_id = any(array(select category_id from taken where category_id is not null))
  union
  select id from public.product where (select exists (select from taken where category_id is null))
  on conflict do nothing;

  linked := array(select distinct category_id from gateway.pending_move where id = any(batch) and category_id is not null);
  free := array(select id from public.category where id = any(linked) order by id for share skip locked);
  linked := array(select id from public.category where id = any(linked) and id <> all(free));
  due := array(select id from gateway.pending_move
               where id = any(batch) and (category_id is null or category_id <> all(linked)));
  moved := array(select id from public.product
                 where id = any(array(select product_id from gateway.pending_move where id = any(due)))
                 order by id for no key update skip locked);
  if moved <> '{}' then
    -- Some milliseconds, which the horizon can wait: otherwise each product would be written twice.
    perform gateway.hold();
    update public.product set updated_at = clock_timestamp() where id = any(moved);
  end if;
  delete from gateway.pending_move
  where id = any(due)
    and (product_id = any(moved) or not exists (select from public.product where product.id = pending_move.product_id));
  return (select max(id) from unnest(batch) as id);
end $$;

revoke all on function gateway.move_pending_products from public;
grant execute on function gateway.move_pending_products to voucher_gateway;
