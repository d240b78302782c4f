-- Mappings: a select over the tables of the platform for each type of record. From each, functions follow that read the source and
-- write the records.

-- The installed mappings.
create table gateway.mapping (
  record   gateway.record_type primary key,
  files    jsonb not null, -- The text of its select, and those of its rules by the names of their sources.
  is_plain boolean not null, -- Whether it reads the plain tables (plain-tables.sql).
  key_type text not null -- bigint: keys are ids. uuid or text: gateway.identity has the ids.
);
grant select on gateway.mapping to voucher_gateway;

-- Types of which all records are compared with their source, in the order of their keys.
create table gateway.scan (
  record          gateway.record_type primary key,
  reason          text not null,
  reached         text, -- The key up to which they were compared; null: none.
  removed         bigint not null default 0, -- How many records had no row in the source.
  allows_removals boolean not null default false,
  stopped         text, -- Why no step goes on with it.
  failed_at       timestamptz -- When its source could not be read; null: it was not stopped by that.
);

-- Lets steps compare all records of a type, from the first key on. A scan that goes on, or has stopped, begins again, and keeps how
-- many records it has removed and whether it may remove more: else some requests would let it remove all of them.
create function gateway.request_scan(scanned gateway.record_type, why text, allows boolean default false) returns void
language sql
begin atomic
  insert into gateway.scan (record, reason, allows_removals) values (scanned, why, allows)
  on conflict (record) do update
  set reason = excluded.reason, allows_removals = scan.allows_removals or excluded.allows_removals, reached = null, stopped = null,
      failed_at = null;
end;

-- Returns the id of a key that is no integer; null when it has none.
--
-- assigns: whether a key that has none gets one.
create function gateway.id_of(of_kind text, of_key text, assigns boolean) returns bigint
language plpgsql
as $$
declare
  known bigint;
begin
  select id into known from gateway.identity where kind = of_kind and key = of_key;
  if known is null and of_key is not null and assigns then
    insert into gateway.identity (kind, key) values (of_kind, of_key) returning id into known;
  end if;
  return known;
end $$;

-- Returns the ids of keys in their order, as gateway.id_of does; null for a key that is no integer, where keys are ids.
create function gateway.ids_of(type gateway.record_type, keys text[], assigns boolean) returns bigint[]
language sql
return array(
  select case when (select key_type from gateway.mapping where record = type) <> 'bigint'
                then gateway.id_of(type::text, key, assigns)
              when key ~ '^-?[0-9]{1,18}$' then key::bigint
              when key ~ '^-?[0-9]{19}$' and key::numeric between -9223372036854775808 and 9223372036854775807 then key::bigint end
  from unnest(keys) with ordinality as given (key, place) order by place);

-- Returns the keys of ids.
create function gateway.keys_of(type gateway.record_type, ids bigint[]) returns text[]
language sql stable
return case (select key_type from gateway.mapping where record = type)
  when 'bigint' then ids::text[]
  else array(select key from gateway.identity where kind = type::text and id = any(ids)) end;

-- What a function has written.
create type gateway.written as (
  latest  timestamptz, -- The last stamp that it gave: each is a microsecond after the former one.
  changed bigint[],    -- The records that were written or deleted.
  parents bigint[],    -- The products that show these, or showed them, when they are variants.
  crosses boolean      -- Whether the set of large tenants has changed.
);

-- A voucher as its source has it at present.
create type gateway.present_voucher as (
  voucher       gateway.voucher_fields,
  customer_name text,
  error         text -- Why v1 cannot show it; null: it can.
);

-- What views refer to, as pg_depend has it: relations, their columns, functions and operators.
create view gateway.view_reference as
select ev_class as reader, refclassid, refobjid, refobjsubid
from pg_rewrite join pg_depend on objid = pg_rewrite.oid and classid = 'pg_rewrite'::regclass;

-- Returns the relations that a view reads, also through other views.
create function gateway.relations_read_by(view regclass) returns setof regclass
language sql stable
begin atomic
  with recursive reads (relation) as (
    select view
    union
    select refobjid::regclass from reads join gateway.view_reference on reader = relation where refclassid = 'pg_class'::regclass
  )
  select relation from reads where relation <> view;
end;

-- Returns the columns of a source that a view reads. Null when some may be unknown: it reads through other views, which may be
-- replaced, or calls functions that may read tables; or when updates of other columns change one: it reads whole rows, system columns
-- or generated columns that are not stored, which triggers do not see.
create function gateway.shown_columns(view regclass, source regclass) returns text[]
language sql stable
as $$
  with read as materialized (
    select * from gateway.view_reference where reader = view
  ), shown as materialized (
    select attname::text as name, attnum < 0 or attgenerated = 'v' as is_computed from pg_attribute
    where attrelid = source and attnum in (select refobjsubid from read where refclassid = 'pg_class'::regclass and refobjid = source)
  )
  select array(select name from shown)
  where not exists (select from shown where is_computed)
    and pg_get_viewdef(view) not like '%.*%'
    and not exists (select from pg_class where oid in (select gateway.relations_read_by(view)) and relkind in ('v', 'm'))
    and not exists (
      select from pg_proc
      where provolatile <> 'i' and pronamespace not in ('pg_catalog'::regnamespace, 'gateway'::regnamespace)
        and (oid in (select refobjid from read where refclassid = 'pg_proc'::regclass)
          or oid in (select oprcode from read join pg_operator on pg_operator.oid = refobjid
                     where refclassid = 'pg_operator'::regclass)))
$$;

-- Returns the fields of a type, and the expressions that give them over a view of its mapping: its caller has a value `assigns`, as
-- gateway.id_of has.
create function gateway.mapped_fields(mapped gateway.record_type, view regclass)
returns table (name text, place smallint, column_name text, kind text, is_required boolean, standard text, given text,
               is_integer boolean, expression text)
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
           case when pg_attribute.attname = 'id' then mapped::text when column_name in ('tenant_id', 'parent_id') then 'tenant'
                when column_name = 'category_ids' then 'category' when column_name in ('product_id', 'parent_product_id') then 'product'
                when column_name in ('order_id', 'order_item_id') then left(column_name, -3) end as kind
    from pg_attribute
    cross join lateral (select case pg_attribute.attname when 'id' then 'key' else pg_attribute.attname end as column_name) one
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    left join given on given.attname = column_name
    where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attnum > 0 and pg_attribute.attname <> 'content'
  ), shown as (
    select *, case when kind is null or is_integer or typname is null then format('%s::%s', value, type)
                   when name = 'category_ids' then format('gateway.ids_of(''category'', %I::text[], assigns)', column_name)
                   when parent_names_product then format(
                     'gateway.id_of(case when parent_product_id is null then ''product'' else ''variant'' end, %s::text, assigns)', value)
                   else format('gateway.id_of(%L, %s::text, assigns)', kind, value) end as expression
    from field cross join lateral (
      select case when typname is null then coalesce(standard, 'null') when standard is null then quote_ident(column_name)
                  else format('coalesce(%I, %s)', column_name, standard) end as value,
             -- Of a voucher that was sold as a variant, product_id names the variant.
             mapped = 'voucher' and name = 'product_id' and exists (select from given where attname = 'parent_product_id')
               as parent_names_product
    ) one
  )
  select name, attnum, column_name, kind, attnotnull and standard is null, standard, typname, is_integer,
         case
           -- Of customers who do not consent, figures need no personal data, and no rule may keep it in the records.
           when name = 'consented_at'
             then format('case when marketing_opted or gateway.is_instant(%1$s) then %1$s end', expression)
           when mapped = 'customer' and name not in ('id', 'tenant_id', 'marketing_opted', 'created_at')
             then format('case when marketing_opted then %s end', expression)
           else expression end
  from shown
$$;

-- Installs a rule: which records of a type show a row of a source. Creates the function that returns their keys for some rows, if
-- the row itself does not have the key.
--
-- query: a select of the keys over the table `changed`, which has rows of the source; null: the primary key is the key.
-- shown: the columns that records show; null: not known.
create procedure gateway.install_rule(ruled gateway.record_type, source regclass, query text, shown text[])
language plpgsql
as $procedure$
declare
  table_name constant text := gateway.name_of(source);
  function_name constant text := gateway.function_of(table_name, ruled || 's_of_');
  former_path constant text := current_setting('search_path');
  key_columns text[];
  types text;
begin
  if query is null then
    key_columns := array(
      select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
      where indrelid = source and indisprimary);
    if cardinality(key_columns) <> 1 then
      raise exception 'The type % needs a rule for table %, which has no primary key of one column.', ruled, table_name;
    end if;
  else
    execute format('create temporary table changed as select * from %s with no data', source);
    execute format(E'create temporary view affected as\n%s', query);
    perform set_config('search_path', 'pg_catalog, pg_temp', true);
    select array_agg(attname::text order by attnum),
           string_agg(format('values_of_row[%s]::%s as %I', place, format_type(atttypid, atttypmod), attname), ', ' order by attnum)
    into key_columns, types
    from (
      select attribute.*, row_number() over (order by attnum) as place
      from pg_attribute attribute
      cross join (
        select array_agg(refobjsubid) as numbers from gateway.view_reference
        where reader = 'pg_temp.affected'::regclass and refobjid = 'pg_temp.changed'::regclass and refobjsubid > 0
      ) read
      -- A rule that reads none has the same keys for each row.
      where attrelid = 'pg_temp.changed'::regclass and attnum > 0 and attnum = any(coalesce(read.numbers, array[attnum]))
    ) read_column;
    if cardinality(key_columns) = 1 and pg_get_viewdef('pg_temp.affected')
         ~ format('^ SELECT (changed\.)?%s( AS \w+)?\s+FROM changed;$', quote_ident(key_columns[1]))
    then
      query := null;
    else
      execute format($function$
create or replace function %s(changed_rows text[]) returns setof text
language sql stable
as $body$
  with changed as (select %s from (select unnest(changed_rows)::text[] as values_of_row) one)
  select distinct affected::text from (%s) key (affected)
$body$;
revoke execute on function %1$s from public$function$,
        function_name, types, rtrim(pg_get_viewdef('pg_temp.affected'::regclass), ';'));
    end if;
    perform set_config('search_path', former_path, true);
    drop view pg_temp.affected;
    drop table pg_temp.changed;
  end if;
  -- Triggers depend on the columns alone, and on whether these are the key.
  insert into gateway.rule
  select ruled, table_name, key_columns, case when query is not null then function_name end, case when query is not null then shown end
  on conflict on constraint rule_pkey do update
  set columns = excluded.columns, affects = excluded.affects, shown = excluded.shown,
      is_captured = rule.is_captured
        and (rule.columns, rule.affects, rule.shown) is not distinct from (excluded.columns, excluded.affects, excluded.shown);
end $procedure$;

-- Creates the functions that read the source of a type and that write its records. The bodies of those that read sources are text,
-- so that PostgreSQL refuses no change of the platform's tables because of them. Names in them are qualified: a caller's
-- search_path holds for the queries alone.
--
-- query: a select over the tables of the platform. Its columns are the fields of the type, but `key` is the id; those that may be
-- null or have a default may be missing. That of vouchers also has `customer_name`, which resolutions alone show. Keys, and columns
-- that name others, are integers, or of another type: then gateway.identity gives them ids.
-- rules: the queries of gateway.install_rule by the names of sources. The primary key of another source is the key.
create procedure gateway.prepare_mapping(mapped gateway.record_type, query text, rules jsonb, is_plain boolean)
language plpgsql
as $procedure$
declare
  former_path constant text := current_setting('search_path');
  source_query text;
  source regclass;
  query_of_rule text;
  columns text[];
  key_type text;
  key_of text := 'id::text';
  missing text;
  fields text;
  customer_name text;
  more_errors text := '';
  more_writes text := '';
begin
  execute format(E'create temporary view mapped_source as\n%s', query);
  for source, columns, query_of_rule in
    select read, gateway.shown_columns('pg_temp.mapped_source', read), coalesce(rules ->> relname, rules ->> concat_ws('.', nspname, relname))
    from gateway.relations_read_by('pg_temp.mapped_source') read
    join pg_class on pg_class.oid = read join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'p')
  loop
    call gateway.install_rule(mapped, source, query_of_rule, columns);
  end loop;
  delete from gateway.rule
  where record = mapped and coalesce(to_regclass(rule.source) not in (select gateway.relations_read_by('pg_temp.mapped_source')), true);
  perform set_config('search_path', 'pg_catalog, pg_temp', true);
  source_query := rtrim(pg_get_viewdef('pg_temp.mapped_source'::regclass), ';');
  select string_agg(expression, ', ' order by place)
         || case mapped when 'product' then format(', gateway.product_content(%s, %s, %s)',
              min(expression) filter (where name = 'id'), min(expression) filter (where name = 'tenant_id'),
              min(expression) filter (where name = 'category_ids')) else '' end,
         string_agg(column_name, ', ' order by place) filter (where is_required and given is null),
         min(case when is_integer then 'bigint' when given = 'uuid' then 'uuid' else 'text' end) filter (where name = 'id'),
         case when exists (select from pg_attribute where attrelid = 'pg_temp.mapped_source'::regclass and attname = 'customer_name')
              then 'customer_name' else 'null' end
  into fields, missing, key_type, customer_name
  from gateway.mapped_fields(mapped, 'pg_temp.mapped_source');
  perform set_config('search_path', former_path, true);
  drop view pg_temp.mapped_source;
  if missing is not null then
    raise exception 'The mapping of the type % has no column %.', mapped, missing using errcode = 'undefined_column';
  end if;
  if key_type <> 'bigint' then
    key_of := format('(select key from gateway.identity where kind = %L and identity.id = candidate.id)', mapped);
  end if;
  insert into gateway.mapping values (mapped, jsonb_build_object('select', query, 'rules', rules), is_plain, key_type)
  on conflict on constraint mapping_pkey do update
  set files = excluded.files, is_plain = excluded.is_plain, key_type = excluded.key_type;

  if mapped not in ('tenant', 'variant') then
    more_errors := $errors$
      union all
      select id, 'tenant_id names no tenant: ' || tenant_id, 'tenant', tenant_id from unnest(fresh_rows)
      where not exists (select from gateway.tenant where tenant.id = tenant_id)$errors$;
  end if;
  if mapped = 'voucher' then
    more_errors := more_errors || $errors$
      union all
      select id, format('voucher %s has its reference or QR token', rival), 'voucher', rival
      from gateway.rivals_of(fresh_rows, stale_rows, readmitted)$errors$;
  end if;

  -- gateway.write_tenant_paths records the removals of tenants. Products show categories and variants.
  if mapped not in ('tenant', 'category', 'variant') then
    more_writes := format($removal$
  with removal as (
    insert into gateway.removal
    select '%1$s', stale.tenant_id, stale.id,
           case when fresh.id is null then 'deleted' %2$s else 'moved' end::gateway.removal_reason,
           written.latest + row_number() over (order by stale.id) * interval '1 microsecond'
    from unnest(stale_rows) stale left join unnest(fresh_rows) fresh using (id)
    where (fresh.id is null or fresh.tenant_id <> stale.tenant_id %3$s)
    returning tenant_id, reason, updated_at
  )
  select coalesce(max(updated_at), written.latest),
         array_agg((tenant_id, updated_at)::gateway.consent_withdrawal) filter (where reason = 'consent_withdrawn')
  into written.latest, withdrawals from removal;$removal$,
      mapped, case mapped when 'customer' then 'when not fresh.marketing_opted then ''consent_withdrawn''' else '' end,
      case mapped when 'customer' then 'or not fresh.marketing_opted) and (stale.marketing_opted' else '' end);
  end if;

  if mapped = 'variant' then
    more_writes := $parents$
  written.parents := array(select product_id from unnest(fresh_rows) union select product_id from unnest(stale_rows));$parents$;
  elsif mapped = 'voucher' then
    more_writes := more_writes || $figures$
  with changed as materialized (
    select id, fresh
    from unnest(written_rows) fresh full join unnest(stale_rows) stale using (id)
    where (fresh.tenant_id, fresh.reference, fresh.product_title, fresh.recipient_name)
      is distinct from (stale.tenant_id, stale.reference, stale.product_title, stale.recipient_name)
  ), deleted as (
    delete from gateway.voucher_text
    where id = any(array(select id from changed where (fresh).id is null))
  )
  insert into gateway.voucher_text
  select id, (fresh).tenant_id, gateway.folded(concat_ws(' ', (fresh).reference, (fresh).product_title)),
         gateway.folded((fresh).recipient_name)
  from changed where (fresh).id is not null
  on conflict on constraint voucher_text_pkey do update
  set tenant_id = excluded.tenant_id, words = excluded.words, recipient = excluded.recipient;
  if counts then
    written.crosses := gateway.add_voucher_figures(written_rows, stale_rows);
  end if;$figures$;
  elsif mapped = 'customer' then
    more_writes := more_writes || $figures$
  insert into gateway.consent_withdrawal select * from unnest(withdrawals);
  if counts then
    perform gateway.add_consent_figures(written_rows, stale_rows, withdrawals);
  end if;$figures$;
  end if;

  execute format($functions$
create or replace function gateway.source_of_%1$s(keys text[], assigns boolean) returns setof gateway.%1$s_fields
language sql stable
as $body$
  select %2$s from (
%3$s
  ) mapping where %9$s = any(keys::%6$s[])
$body$;

-- Returns the next keys, of the source and of the records: up to `at_most` of each.
--
-- Plans are made for the value of `after`: one that is not null is the bound of an index.
--
-- reached: the key up to which these are all; null: the last.
-- lost: how many of them are keys of records alone.
create or replace function gateway.scan_%1$s(after %6$s, at_most integer, out keys text[], out reached text, out lost bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan
as $body$
declare
  source_keys %6$s[];
  record_keys %6$s[];
  last_key %6$s;
begin
  source_keys := array(select %9$s from (
%3$s
  ) mapping where after is null or %9$s > after order by %9$s limit at_most);
  record_keys := array(select key from (%7$s) record where after is null or key > after order by key limit at_most);
  -- Beyond the last key of a full part there may be more.
  last_key := least(case when cardinality(source_keys) = at_most then source_keys[at_most] end,
                    case when cardinality(record_keys) = at_most then record_keys[at_most] end);
  select coalesce(array_agg(key::text), '{}'), count(*) filter (where is_lost), last_key into keys, lost, reached
  from (select key, bool_and(is_record) as is_lost
        from (select unnest(source_keys) as key, false as is_record union all select unnest(record_keys), true) found
        where last_key is null or key <= last_key group by key) key;
end $body$;

-- Evaluates the mapping for some keys, and writes the records that differ, with stamps after the latest one. With `counts`,
-- figures follow.
create or replace function gateway.write_%1$s(keys text[], latest timestamptz, counts boolean) returns gateway.written
language plpgsql
as $body$
declare
  ids constant bigint[] := gateway.ids_of('%1$s', keys, true);
  fresh_rows gateway.%1$s_fields[];
  stale_rows gateway.%1$s[];
  written_rows gateway.%1$s[];
  readmitted bigint[];
  rejected_ids bigint[];
  withdrawals gateway.consent_withdrawal[];
  written gateway.written;
begin
  with deleted as (
    delete from gateway.rejected where record = '%1$s' and key = any(keys) returning key
  )
  select gateway.ids_of('%1$s', array_agg(key), true) into readmitted from deleted;
  select array_agg(fresh) filter (where (fresh).id is not null), array_agg(stale) filter (where (stale).id is not null)
  into fresh_rows, stale_rows
  from (select fresh, id from gateway.source_of_%1$s(keys, true) fresh) source
  full join (select stale, id from gateway.%1$s stale where id = any(ids)) record using (id)
  where fresh is distinct from stale::gateway.%1$s_fields or id = any(readmitted);

  with rejected as (
    insert into gateway.rejected
    select '%1$s', %8$s, reason, waits_for::gateway.record_type, waits_id from (
      select id, case when gateway.is_identifier(id) then gateway.error_of(candidate)
                      else 'the key is not between 1 and 2^53 - 1' end as reason, null as waits_for, null::bigint as waits_id
      from unnest(fresh_rows) candidate%4$s
    ) candidate
    where reason is not null
    on conflict do nothing returning key
  )
  select gateway.ids_of('%1$s', array_agg(key), true) into rejected_ids from rejected;
  if rejected_ids is not null then
    fresh_rows := array(select fresh from unnest(fresh_rows) fresh where id <> all(rejected_ids));
    stale_rows := array(select stale from unnest(stale_rows) stale where id <> all(rejected_ids));
  end if;

  delete from gateway.%1$s where id = any(array(select id from unnest(stale_rows)));
  with inserted as (
    insert into gateway.%1$s
    select (fresh).*, latest + place * interval '1 microsecond'
    from (select fresh, row_number() over (order by id) as place from unnest(fresh_rows) fresh) numbered
    returning %1$s as record
  )
  select array_agg(record) into written_rows from inserted;
  written.latest := latest + coalesce(cardinality(fresh_rows), 0) * interval '1 microsecond';
  written.changed := array(select id from unnest(fresh_rows) union select id from unnest(stale_rows));%5$s
  return written;
end $body$$functions$, mapped, fields, source_query, more_errors, more_writes, key_type,
    case key_type when 'bigint' then format('select id as key from gateway.%I', mapped)
                  else format('select key::%s as key from gateway.%I join gateway.identity using (id) where kind = %L',
                              key_type, mapped, mapped) end,
    key_of, case key_type when 'text' then 'key::text' else 'key' end);
  -- To create it locks the table, also when it exists.
  if key_type = 'uuid' and to_regclass('gateway.identity_' || mapped) is null then
    execute format('create index %I on gateway.identity ((key::uuid)) where kind = %L',
                   'identity_' || mapped, mapped);
  end if;

  if mapped = 'voucher' then
    execute format($function$
-- Evaluates the mapping for one voucher at present; no row: the source has none. A voucher that is as its record breaks no rule;
-- one that cannot be evaluated is shown as its record.
-- Volatile: it takes its snapshot after it has waited for locks, because an older one sees a rewritten table as empty.
create or replace function gateway.read_present_voucher(present_id bigint) returns setof gateway.present_voucher
language plpgsql volatile security definer rows 1 set search_path = pg_catalog, pg_temp set row_security = off
as $body$
declare
  assigns constant boolean := false;
  present gateway.present_voucher;
  is_record boolean;
begin
  select fresh, name, fresh is not distinct from stale::gateway.voucher_fields
  into present.voucher, present.customer_name, is_record
  from (select (%s)::gateway.voucher_fields as fresh, %s::text as name from (
%s
  ) mapping where key = %s offset 0) source left join gateway.voucher stale on stale.id = present_id;
  if found then
    -- In a statement of its own, because to prepare the rules takes longer than to read the voucher.
    if not is_record then
      present.error := coalesce(
        gateway.error_of(present.voucher),
        (select 'tenant_id names no tenant' where not exists (select from gateway.tenant where tenant.id = (present.voucher).tenant_id)));
    end if;
    return next present;
  end if;
exception
  when transaction_rollback or insufficient_resources or operator_intervention or system_error
    or syntax_error_or_access_rule_violation or lock_not_available
  then
    raise;
  when others then
    return query select voucher::gateway.voucher_fields, null::text, sqlerrm from gateway.voucher where id = present_id;
end $body$$function$, fields, customer_name, source_query,
      case key_type when 'bigint' then 'present_id'
                    else format('(select key::%s from gateway.identity where id = present_id)', key_type) end);
  end if;

  execute (select string_agg(format('revoke execute on function %1$s from public; grant execute on function %1$s to voucher_gateway',
                                    oid::regprocedure), '; ')
           from pg_proc
           where pronamespace = 'gateway'::regnamespace
             and proname in ('source_of_' || mapped, 'scan_' || mapped, 'write_' || mapped, 'read_present_voucher'));
end $procedure$;

-- Installs the mapping of a type, if it differs from the installed one: as gateway.prepare_mapping does, and lets steps compare all
-- records. Its sources have to be captured after that (gateway.sources_to_capture).
create procedure gateway.install_mapping(mapped gateway.record_type, query text, rules jsonb, is_plain boolean default false)
language plpgsql
as $$
begin
  if exists (select from gateway.mapping where record = mapped and files = jsonb_build_object('select', query, 'rules', rules)) then
    return;
  end if;
  call gateway.prepare_mapping(mapped, query, rules, is_plain);
  delete from gateway.scan where record = mapped;
  perform gateway.request_scan(mapped, 'The mapping is new.');
end $$;

-- Installs mappings without rows for the types that a platform does not have.
--
-- others: the types that it has.
create procedure gateway.install_no_mapping(others gateway.record_type[])
language plpgsql
as $$
declare
  mapped gateway.record_type;
  columns text;
begin
  foreach mapped in array enum_range(null::gateway.record_type) loop
    continue when mapped = any(others);
    select string_agg(format('null::%s as %I', format_type(atttypid, atttypmod), case attname when 'id' then 'key' else attname end),
                      ', ')
    into columns
    from pg_attribute
    where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attnum > 0 and attname <> 'content';
    call gateway.install_mapping(mapped, format('select %s where false', columns), '{}');
  end loop;
end $$;
