-- The functions, views and tables of the gateway that do not belong to a mapping, each with a digest of its text, or of
-- its columns, constraints and triggers. The digests do not cover rights: gateway.foreign_right and the grants in the
-- files are compared for them.
create or replace view gateway.present_object as
with line (name, line) as (
  select oid::regprocedure::text, pg_get_functiondef(oid) from pg_proc where pronamespace = 'gateway'::regnamespace and prokind in ('f', 'p')
  union all
  select oid::regclass::text, pg_get_viewdef(oid) from pg_class where relnamespace = 'gateway'::regnamespace and relkind = 'v'
  union all
  select attrelid::regclass::text, concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
                                             pg_get_expr(adbin, adrelid))
  from pg_class join pg_attribute on attrelid = pg_class.oid left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where relnamespace = 'gateway'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
  union all
  select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'gateway'::regnamespace and conrelid <> 0
  union all
  select tgrelid::regclass::text, concat_ws(' ', pg_get_triggerdef(pg_trigger.oid), tgenabled)
  from pg_trigger join pg_class on pg_class.oid = tgrelid where relnamespace = 'gateway'::regnamespace and not tgisinternal
)
select name, md5(string_agg(line, E'\n' order by line collate "C")) as md5,
       current_setting('server_version_num')::integer / 10000 as server
from line
where split_part(name, '(', 1) not in (
    select format('gateway.%s_%s', made, record)
    from gateway.mapping cross join unnest('{read,next,scan,source_of,write}'::text[]) made)
  and split_part(name, '(', 1) not in (select affects from gateway.rule where affects is not null)
  and name !~ '^gateway\."?capture_rows?_of_'
group by name;
grant select on gateway.present_object to voucher_gateway;
