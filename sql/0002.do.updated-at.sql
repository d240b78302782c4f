-- A change to anything that a record shows moves its updated_at (R22), however the platform writes.
-- `set local gateway.keep_updated_at = 'on'` lets a loader keep the stamps it brings.

create function gateway.keeps_updated_at() returns boolean
language sql stable parallel safe
return coalesce(current_setting('gateway.keep_updated_at', true), '') = 'on';

create function gateway.move_updated_at() returns trigger
language plpgsql
as $$
begin
  if not gateway.keeps_updated_at() then
    new.updated_at := clock_timestamp();
  end if;
  return new;
end $$;

-- An update that writes updated_at itself has said what it should be.
create trigger move_updated_at before update on public.tenant for each row
  when (old.* is distinct from new.* and old.updated_at is not distinct from new.updated_at)
  execute function gateway.move_updated_at();
create trigger move_updated_at before update on public.product for each row
  when (old.* is distinct from new.* and old.updated_at is not distinct from new.updated_at)
  execute function gateway.move_updated_at();
create trigger move_updated_at before update on public.variant for each row
  when (old.* is distinct from new.* and old.updated_at is not distinct from new.updated_at)
  execute function gateway.move_updated_at();
create trigger move_updated_at before update on public.purchased_voucher for each row
  when (old.* is distinct from new.* and old.updated_at is not distinct from new.updated_at)
  execute function gateway.move_updated_at();
create trigger move_updated_at before update on public.customer for each row
  when (old.* is distinct from new.* and old.updated_at is not distinct from new.updated_at)
  execute function gateway.move_updated_at();

-- A product shows its variants and its categories: once for a statement, however many rows it touched. In the order
-- of their ids, so that two writers who touch the same products do not wait for each other.
create function gateway.move_products_of_changed() returns trigger
language plpgsql
as $$
begin
  if gateway.keeps_updated_at() then
    return null;
  end if;
  if tg_op = 'INSERT' then
    update public.product set updated_at = clock_timestamp()
      where id in (select id from public.product where id in (select product_id from changed) order by id for update);
  elsif tg_op = 'DELETE' then
    update public.product set updated_at = clock_timestamp()
      where id in (select id from public.product where id in (select product_id from gone) order by id for update);
  else
    update public.product set updated_at = clock_timestamp()
      where id in (select id from public.product
                   where id in (select product_id from ((table changed except all table gone)
                                                        union all (table gone except all table changed)) as moved)
                   order by id for update);
  end if;
  return null;
end $$;

create trigger move_products_on_insert after insert on public.variant
  referencing new table as changed
  for each statement execute function gateway.move_products_of_changed();
create trigger move_products_on_update after update on public.variant
  referencing old table as gone new table as changed
  for each statement execute function gateway.move_products_of_changed();
create trigger move_products_on_delete after delete on public.variant
  referencing old table as gone
  for each statement execute function gateway.move_products_of_changed();

create trigger move_products_on_insert after insert on public.product_category
  referencing new table as changed
  for each statement execute function gateway.move_products_of_changed();
create trigger move_products_on_update after update on public.product_category
  referencing old table as gone new table as changed
  for each statement execute function gateway.move_products_of_changed();
create trigger move_products_on_delete after delete on public.product_category
  referencing old table as gone
  for each statement execute function gateway.move_products_of_changed();

create function gateway.move_products_of_category() returns trigger
language plpgsql
as $$
begin
  if not gateway.keeps_updated_at() then
    update public.product set updated_at = clock_timestamp()
      where id in (select id from public.product
                   where id in (select link.product_id
                                from public.product_category link
                                join (table changed except all table gone) as moved on moved.id = link.category_id)
                   order by id for update);
  end if;
  return null;
end $$;

create trigger move_products after update on public.category
  referencing old table as gone new table as changed
  for each statement execute function gateway.move_products_of_category();

-- A truncation names no rows: all products may have shown some.
create function gateway.move_all_products() returns trigger
language plpgsql
as $$
begin
  if not gateway.keeps_updated_at() then
    update public.product set updated_at = clock_timestamp();
  end if;
  return null;
end $$;

create trigger move_products_on_truncate after truncate on public.variant
  for each statement execute function gateway.move_all_products();
create trigger move_products_on_truncate after truncate on public.product_category
  for each statement execute function gateway.move_all_products();

-- A tenant tree has no loops; a chain of parents ends.
create function gateway.refuse_tenant_loop() returns trigger
language plpgsql
as $$
begin
  if exists (
    with recursive above as (
      select new.parent_id as id
      union
      select tenant.parent_id from public.tenant join above on tenant.id = above.id
    )
    select from above where id = new.id
  ) then
    raise exception 'tenant % cannot lie below itself', new.id using errcode = 'check_violation';
  end if;
  return new;
end $$;

create trigger refuse_tenant_loop before insert or update of parent_id, id on public.tenant
  for each row when (new.parent_id is not null) execute function gateway.refuse_tenant_loop();
