-- Products are looked up by their keys, whatever the first statement of a session was: a session keeps the plan that it
-- made for a bulk insert, and for one link that read all products.
create or replace function gateway.move_products_of_changed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  concerned bigint[];
begin
  if gateway.keeps_updated_at() then
    return null;
  end if;
  if tg_op = 'INSERT' then
    concerned := array(select distinct product_id from changed);
  elsif tg_op = 'DELETE' then
    concerned := array(select distinct product_id from gone);
  else
    concerned := array(select distinct product_id from ((table changed except all table gone)
                                                        union all (table gone except all table changed)) as moved);
  end if;
  perform gateway.move_products(concerned);
  return null;
end $$;

create or replace function gateway.move_products_of_category() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not gateway.keeps_updated_at() then
    perform gateway.move_products(array(
      select distinct link.product_id
      from (table changed except all table gone) as moved
      join public.product_category link on link.category_id = moved.id));
  end if;
  return null;
end $$;

-- In the order of their ids, so that two writers that touch the same products do not wait for each other in a circle.
create function gateway.move_products(concerned bigint[]) returns void
language plpgsql
as $$
begin
  perform from public.product where id = any(concerned) order by id for no key update;
  update public.product set updated_at = clock_timestamp() where id = any(concerned);
end $$;
