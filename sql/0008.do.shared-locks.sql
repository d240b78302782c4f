-- Two who write at once do not see each other's rows. Where one of them would have to stamp what the other is just
-- adding, they wait for each other; or whoever read in between would keep what is no longer so.

-- A product is filed under a category while that is being changed (R22): the one who changes it does not see the link
-- yet. So whoever links shares the category's row, which waits for those who change it, and makes them wait.
create function gateway.share_categories() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    -- In the order of their ids, as all who lock several.
    perform from public.category where id in (select category_id from changed) order by id for share;
  end if;
  return null;
end $$;

-- Triggers run in the order of their names: this is before products are moved, and so locked.
create trigger a_share_categories_on_insert after insert on public.product_category
  referencing new table as changed
  for each statement execute function gateway.share_categories();
create trigger a_share_categories_on_update after update on public.product_category
  referencing new table as changed
  for each statement execute function gateway.share_categories();
alter table public.product_category enable always trigger a_share_categories_on_insert;
alter table public.product_category enable always trigger a_share_categories_on_update;

-- A tenant comes below one that is going elsewhere in the tree, with all below it: the one who moves that does not see
-- it yet. So whoever puts a tenant below others shares their rows.
create function gateway.share_tenants_above() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    perform from public.tenant where id in (
      with recursive above as (
        select new.parent_id as id
        union
        select tenant.parent_id from public.tenant join above on tenant.id = above.id where tenant.parent_id is not null
      )
      select id from above
    ) order by id for share;
  end if;
  return null;
end $$;

create trigger a_share_above_on_insert after insert on public.tenant
  for each row when (new.parent_id is not null) execute function gateway.share_tenants_above();
create trigger a_share_above_on_update after update on public.tenant
  for each row when (new.parent_id is not null and old.parent_id is distinct from new.parent_id)
  execute function gateway.share_tenants_above();
alter table public.tenant enable always trigger a_share_above_on_insert;
alter table public.tenant enable always trigger a_share_above_on_update;
