-- Finds errors in the columns of a mapping: first in their names, then in their types.
create or replace function gateway.find_column_faults(mapped gateway.record_type) returns setof gateway.finding
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  view constant regclass := gateway.view_of(mapped::text);
  one record;
begin
  return query
    select 'error', format('It has no column %s, which each %s needs', column_name, mapped), format('Add %s to the select', column_name),
           null::jsonb
    from gateway.mapped_fields(mapped, view) where is_required and given is null
    union all
    select 'error', format('A %2$s has no column %1$s', attname, mapped),
           (select format('Leave it out, or give it the name of a missing column: %s', string_agg(column_name, ', ' order by place))
            from gateway.mapped_fields(mapped, view) where given is null), null
    from pg_attribute
    where attrelid = view and attnum > 0 and format('%s.%s', mapped, attname) <> 'voucher.customer_name'
      and attname not in (select column_name from gateway.mapped_fields(mapped, view));
  if found then
    return;
  end if;
  for one in select * from gateway.mapped_fields(mapped, view) where given is not null loop
    begin
      -- A temporary view checks the types without the right to read the tables.
      execute format('create temporary view converted as select %s, %s from %s; drop view pg_temp.converted',
                     one.expression, coalesce(one.key_text, 'null'), view);
    exception
      when others then
        return next ('error', format('Its column %s has a wrong type: %s', one.column_name, sqlerrm),
                     format('Cast it to %s in the select', (
                       select format_type(atttypid, atttypmod) from pg_attribute
                       where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attname = one.name)), null)::gateway.finding;
    end;
  end loop;
  -- Keys of different types are compared as texts.
  return query
    select case when 'uuid' in (ltrim(field.given, '_'), key.given) then 'error' else 'warning' end,
           format('Its column %s is of the type %s, but the key of %s.sql is of the type %s', field.column_name, field.given,
                  field.kind, key.given),
           format('Let both have one type. As they are, the column finds the %s whose key has the same text', field.kind), null::jsonb
    from gateway.mapped_fields(mapped, view) field
    join unnest(enum_range(null::gateway.record_type)) other on other::text = field.kind and field.name <> 'id'
    join gateway.mapped_fields(other, gateway.view_of(other::text)) key on key.name = 'id' and key.is_integer <> field.is_integer;
end $$;
