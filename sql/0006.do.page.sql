-- A page of each list: the watermark first, and then, under a snapshot of its own, one range of the list's index.
-- A function, because the statements of one have a snapshot each, and a single statement has but one. The watermark is
-- left in the setting gateway.watermark, in microseconds: there even when the page is empty.
-- The range lies strictly between two positions (R15); backward, it is read from its end.

create function gateway.note_watermark() returns timestamptz
language plpgsql volatile
as $$
declare
  found constant timestamptz := gateway.watermark();
begin
  perform set_config('gateway.watermark', ((extract(epoch from found) * 1000000)::bigint)::text, true);
  return found;
end $$;

-- The watermark that this statement's page was read at.
create function gateway.noted_watermark() returns timestamptz
language sql volatile
return gateway.from_microseconds(current_setting('gateway.watermark')::bigint);

-- The tenants that are granted, one by one or below others, are looked up in a hash as the list is passed along: the
-- or keeps the planner from joining and sorting them instead.
create function gateway.tenant_page(
  named bigint[], with_descendants bigint[],
  lower_at timestamptz, lower_id bigint, upper_at timestamptz, upper_id bigint, backward boolean, size integer
) returns setof public.tenant
language plpgsql volatile
as $$
declare
  watermark constant timestamptz := gateway.note_watermark();
  granted constant bigint[] := array(
    with recursive below as (
      select id from public.tenant where id = any(with_descendants)
      union
      select tenant.id from public.tenant join below on tenant.parent_id = below.id
    )
    select id from below union select unnest(named));
begin
  if (watermark, 0) < (upper_at, upper_id) then
    upper_at := watermark;
    upper_id := 0;
  end if;
  if backward then
    return query
      select /* tenant.page */ * from public.tenant
      where (granted is null or id in (select unnest(granted)))
        and (updated_at, id) > (lower_at, lower_id) and (updated_at, id) < (upper_at, upper_id)
      order by updated_at desc, id desc limit size;
  else
    return query
      select /* tenant.page */ * from public.tenant
      where (granted is null or id in (select unnest(granted)))
        and (updated_at, id) > (lower_at, lower_id) and (updated_at, id) < (upper_at, upper_id)
      order by updated_at, id limit size;
  end if;
end $$;

create function gateway.product_page(
  tenant bigint,
  lower_at timestamptz, lower_id bigint, upper_at timestamptz, upper_id bigint, backward boolean, size integer
) returns setof public.product
language plpgsql volatile
as $$
declare
  watermark constant timestamptz := gateway.note_watermark();
begin
  if (watermark, 0) < (upper_at, upper_id) then
    upper_at := watermark;
    upper_id := 0;
  end if;
  if backward then
    return query select /* product.page */ * from public.product
      where tenant_id = tenant
        and (coalesce(updated_at, '-infinity'), id) > (lower_at, lower_id)
        and (coalesce(updated_at, '-infinity'), id) < (upper_at, upper_id)
      order by coalesce(updated_at, '-infinity') desc, id desc limit size;
  else
    return query select /* product.page */ * from public.product
      where tenant_id = tenant
        and (coalesce(updated_at, '-infinity'), id) > (lower_at, lower_id)
        and (coalesce(updated_at, '-infinity'), id) < (upper_at, upper_id)
      order by coalesce(updated_at, '-infinity'), id limit size;
  end if;
end $$;

create function gateway.purchased_voucher_page(
  tenant bigint,
  lower_at timestamptz, lower_id bigint, upper_at timestamptz, upper_id bigint, backward boolean, size integer
) returns setof public.purchased_voucher
language plpgsql volatile
as $$
declare
  watermark constant timestamptz := gateway.note_watermark();
begin
  if (watermark, 0) < (upper_at, upper_id) then
    upper_at := watermark;
    upper_id := 0;
  end if;
  if backward then
    return query select /* voucher.page */ * from public.purchased_voucher
      where tenant_id = tenant
        and (updated_at, id) > (lower_at, lower_id)
        and (updated_at, id) < (upper_at, upper_id)
      order by updated_at desc, id desc limit size;
  else
    return query select /* voucher.page */ * from public.purchased_voucher
      where tenant_id = tenant
        and (updated_at, id) > (lower_at, lower_id)
        and (updated_at, id) < (upper_at, upper_id)
      order by updated_at, id limit size;
  end if;
end $$;

create function gateway.marketing_signup_page(
  tenant bigint,
  lower_at timestamptz, lower_id bigint, upper_at timestamptz, upper_id bigint, backward boolean, size integer
) returns setof public.customer
language plpgsql volatile
as $$
declare
  watermark constant timestamptz := gateway.note_watermark();
begin
  if (watermark, 0) < (upper_at, upper_id) then
    upper_at := watermark;
    upper_id := 0;
  end if;
  if backward then
    return query select /* signup.page */ * from public.customer
      where tenant_id = tenant and marketing_opted
        and (updated_at, id) > (lower_at, lower_id)
        and (updated_at, id) < (upper_at, upper_id)
      order by updated_at desc, id desc limit size;
  else
    return query select /* signup.page */ * from public.customer
      where tenant_id = tenant and marketing_opted
        and (updated_at, id) > (lower_at, lower_id)
        and (updated_at, id) < (upper_at, upper_id)
      order by updated_at, id limit size;
  end if;
end $$;

create function gateway.removal_page(
  tenant bigint, resources text[],
  lower_at timestamptz, lower_id bigint, upper_at timestamptz, upper_id bigint, backward boolean, size integer
) returns setof gateway.removal
language plpgsql volatile
as $$
declare
  watermark constant timestamptz := gateway.note_watermark();
begin
  if (watermark, 0) < (upper_at, upper_id) then
    upper_at := watermark;
    upper_id := 0;
  end if;
  if backward then
    return query select /* removal.page */ * from gateway.removal
      where tenant_id = tenant and resource = any(resources)
        and (updated_at, id) > (lower_at, lower_id) and (updated_at, id) < (upper_at, upper_id)
      order by updated_at desc, id desc limit size;
  else
    return query select /* removal.page */ * from gateway.removal
      where tenant_id = tenant and resource = any(resources)
        and (updated_at, id) > (lower_at, lower_id) and (updated_at, id) < (upper_at, upper_id)
      order by updated_at, id limit size;
  end if;
end $$;
