-- Creates an index of a staged table, if no index of the table begins with the same columns.
create or replace function gateway.index_table(staged regclass, columns text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
    select from pg_index
    where indrelid = staged and indisvalid and indpred is null and columns = array(
      select attname::text
      from unnest(indkey::smallint[]) with ordinality as part (number, place) join pg_attribute on attrelid = staged and attnum = number
      where place <= cardinality(columns) order by place)
  ) then
    execute (select format('create index on %s (%s)', staged, string_agg(quote_ident(name), ', ' order by place))
             from unnest(columns) with ordinality as part (name, place));
  end if;
end $$;
