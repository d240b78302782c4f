-- Lists the columns of mappings from the catalog, by type of record.
select record,
       obj_description(format('gateway.%I', record || '_fields')::regclass) as note,
       attname as name,
       format_type(atttypid, atttypmod) as type,
       -- Null means that a mapping must have the column.
       coalesce(split_part(pg_get_expr(adbin, adrelid), '::', 1), case when not attnotnull then 'null' end) as standard,
       col_description(attrelid, attnum) as rule,
       -- The columns that searches compare instead of the record's own columns.
       array_to_string(array(select dependent_column from information_schema.column_column_usage
                             where table_schema = 'gateway' and table_name = record::text and column_name = attname), ' ') as derived
from unnest(enum_range(null::gateway.record_type)) record
-- A step adds the content of products. Only a resolution reads the name of a voucher's customer.
join pg_attribute on attrelid = format('gateway.%I', record || '_fields')::regclass and attnum > 0 and attname <> 'content'
  or record = 'voucher' and attrelid = 'gateway.present_voucher'::regclass and attname = 'customer_name'
left join pg_attrdef on adrelid = attrelid and adnum = attnum
order by record, attrelid, attnum;
