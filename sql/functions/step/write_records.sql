-- Evaluates keys of all types, and the values that depend on them. Returns the last stamp.
--
-- Evaluates one type after the other, in slices of keys, until the instant `until`. The remaining keys wait.
--
-- fresh: the number of leading keys that did not wait before; such keys are noted again if they remain.
-- counts: true to change figures and heads of lists.
create or replace function gateway.write_records(
  keys gateway.record_key[], fresh integer, latest timestamptz, at_most integer, counts boolean, until timestamptz default 'infinity')
returns timestamptz
language plpgsql
as $$
declare
  type gateway.record_type;
  rest text[];
  part text[];
  at_once integer;
  is_first boolean;
  grows boolean;
  began timestamptz;
  took interval;
  result record;
  outcome text;
  changed bigint[];
  products bigint[] := '{}';
  heads gateway.list_head[];
  moved boolean := false;
  crosses boolean := false;
begin
  foreach type in array enum_range(null::gateway.record_type) loop
    rest := array(
      select key from (
        select key, place from unnest(keys) with ordinality taken (record, key, place) where record = type
        union all select key, null from unnest(gateway.keys_of('product', products)) key where type = 'product') wanted
      group by key order by min(place));
    at_once := (select slice from gateway.mapping where record = type);
    continue when cardinality(rest) = 0 or at_once is null;
    outcome := null;
    changed := '{}';
    is_first := true;
    grows := true;
    while cardinality(rest) > 0 loop
      began := clock_timestamp();
      exit when gateway.is_late() or began > until and not is_first;
      part := rest[:at_once];
      result := gateway.write_keys(type, part, latest, counts);
      outcome := result.outcome;
      exit when outcome = 'locked';
      if outcome = 'too many' then
        at_once := greatest(1, least(at_once, cardinality(rest)) / 8);
        grows := false;
        continue;
      end if;
      is_first := false;
      rest := rest[at_once + 1:];
      latest := (result.written).latest;
      changed := changed || (result.written).changed;
      heads := heads || (result.written).heads;
      crosses := crosses or coalesce((result.written).crosses, false);
      if type = 'variant' and counts then -- The first fill evaluates all products later.
        products := products || (result.written).parents;
      end if;
      took := clock_timestamp() - began;
      at_once := case when took > interval '500 milliseconds'
                      then greatest(1, cardinality(part) * 250 / (extract(epoch from took) * 1000))::integer
                    when grows and took < interval '100 milliseconds' and cardinality(rest) > 0 then least(5000, at_once * 4)
                    else at_once end;
    end loop;
    update gateway.mapping set slice = at_once where record = type and slice <> at_once;
    if cardinality(rest) > 0 and outcome is distinct from 'locked' then
      -- Notes again the keys that did not wait before (`fresh`), because the next step takes notes before waiting keys.
      with noted as (
        insert into gateway.note (record, key) select type, key from unnest(rest) key
        where key in (select one.key from unnest(keys[:fresh]) one where record = type) returning key
      )
      select array(select unnest(rest) except select key from noted) into rest;
    end if;
    insert into gateway.waiting_key (record, key) select type, unnest(rest) on conflict do nothing;
    if type = 'tenant' and counts then -- The first fill writes all paths together.
      select * into latest, moved from gateway.write_tenant_paths(changed, latest);
    elsif type = 'category' then
      products := array(select id from gateway.product where category_ids && changed);
    end if;
    if cardinality(products) > at_most then
      insert into gateway.waiting_key (record, key)
      select 'product', unnest(gateway.keys_of('product', products)) on conflict do nothing;
      products := '{}';
    end if;
    insert into gateway.waiting_key (record, key)
    select record, key from gateway.rejected where type = 'tenant' and tenant_id = any(changed) on conflict do nothing;
  end loop;
  perform gateway.write_heads(heads) where heads is not null;
  if counts and (moved or crosses) then
    perform gateway.update_members(
      case when moved then array(select member from gateway.tree_members() member) end);
  end if;
  return latest;
end $$;
