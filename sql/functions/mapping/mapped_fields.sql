-- Returns the fields of a type, with the expressions of their values.
--
-- expression: the expression over a view of the mapping; null for a key that gets its id from gateway.identity.
-- key_text: the text of such a key, or of an array of such keys.
-- assigned: the expression over the other expressions, named `mapping`, whose array `keys` has the texts of keys. The
-- function that runs it must declare `assigns`, with the meaning of the parameter of gateway.id_of.
create or replace function gateway.mapped_fields(mapped gateway.record_type, view regclass)
returns table (name text, place smallint, column_name text, type text, kind text, is_required boolean, standard text, given text,
               is_integer boolean, expression text, key_text text, assigned text)
language sql stable
as $$
  with given as (
    select attname, base.typname, base.typname in ('int2', 'int4', 'int8', '_int2', '_int4', '_int8') as is_integer
    from pg_attribute join pg_type on pg_type.oid = atttypid
    join pg_type base on base.oid = coalesce(nullif(pg_type.typbasetype, 0), pg_type.oid)
    where attrelid = view and attnum > 0
  ), field as (
    select pg_attribute.attname as name, attnum, column_name, attnotnull, format_type(atttypid, atttypmod) as type,
           pg_get_expr(adbin, adrelid) as standard, typname, is_integer,
           case pg_attribute.attname when 'id' then mapped::text else key_field.kind end as kind
    from pg_attribute
    cross join lateral (select case pg_attribute.attname when 'id' then 'key' else pg_attribute.attname end as column_name) one
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    left join given on given.attname = column_name
    left join gateway.key_field on key_field.record = mapped and key_field.field = pg_attribute.attname
    where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attnum > 0 and pg_attribute.attname <> 'content'
  ), shown as (
    select *, case when is_key then format('null::%s', type)
                   when typname is not null and type like 'text%' then format('gateway.bounded(%s::%s, %s)', value, type,
                     case when name in ('summary', 'description_html', 'redemption_info', 'image_url', 'image_urls') then 1000000 else 100000 end)
                   -- The order of an array without `order by` can change with any row.
                   when name = 'category_ids' then format('array(select unnest(%s::%s) order by 1)', value, type)
                   else format('%s::%s', value, type) end as expression,
           case when is_key then format('mapping.keys[%s]', count(*) filter (where is_key) over (order by attnum)) end as key
    from field cross join lateral (
      select kind is not null and not is_integer and typname is not null as is_key,
             case when typname is null then coalesce(standard, 'null') when standard is null then quote_ident(column_name)
                  else format('coalesce(%I, %s)', column_name, standard) end as value
    ) one
  )
  select name, attnum, column_name, type, kind, attnotnull and standard is null, standard, typname, is_integer,
         case
           -- Figures need no personal data of customers without consent, and no rule may keep it in the records.
           when name = 'consented_at'
             then format('case when marketing_opted or gateway.is_instant(%1$s) then %1$s end', expression)
           when mapped = 'customer' and name not in ('id', 'tenant_id', 'marketing_opted', 'created_at')
             then format('case when marketing_opted then %s end', expression)
           else expression end,
         case when is_key then format('%I::%s', column_name, case name when 'category_ids' then 'text[]::text' else 'text' end) end,
         case when not is_key then format('mapping.%I', name)
              when name = 'category_ids' then format('array(select unnest(gateway.ids_of(''category'', %s::text[], assigns)) order by 1)', key)
              -- For a voucher that was sold as a variant, product_id is the key of the variant.
              when mapped = 'voucher' and name = 'product_id' then format(
                'gateway.id_of(case when %s is null then ''product'' else ''variant'' end, %s, assigns)',
                (select coalesce(parent.key, 'mapping.parent_product_id') from shown parent where parent.name = 'parent_product_id'), key)
              else format('gateway.id_of(%L, %s, assigns)', kind, key) end
  from shown
$$;
