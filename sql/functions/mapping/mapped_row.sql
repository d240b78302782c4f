-- Returns gateway.mapped_fields as lists: the expressions to read from the view, the columns of the result, and the
-- fields of a record over these columns.
create or replace function gateway.mapped_row(mapped gateway.record_type, view regclass)
returns table (read_fields text, read_more text, shape text, fields text, nulls text, missing text, key_type text)
language sql stable
as $$
  select string_agg(expression, ', ' order by place),
         format('array[%s]::text[], ', string_agg(key_text, ', ' order by place))
         || case when exists (select from pg_attribute where attrelid = view and attname = 'customer_name')
              then 'customer_name::text' else 'null::text' end,
         string_agg(format('%I %s', name, type), ', ' order by place) || ', keys text[], customer_name text',
         string_agg(assigned, ', ' order by place)
         || case mapped when 'product' then format(', gateway.product_content(%s, %s, %s)',
              min(assigned) filter (where name = 'id'), min(assigned) filter (where name = 'tenant_id'),
              min(assigned) filter (where name = 'category_ids')) else '' end,
         coalesce(string_agg(format(' when (candidate).%1$I is null then ''%1$s is null''', name), '' order by place)
                    filter (where is_required and name <> 'id'), ''),
         string_agg(column_name, ', ' order by place) filter (where is_required and given is null),
         min(case when is_integer then 'bigint' when given = 'uuid' then 'uuid' else 'text' end) filter (where name = 'id')
  from gateway.mapped_fields(mapped, view)
$$;
