-- Creates the functions that read the source of a type and write its records. The bodies of functions that read sources
-- are text, because PostgreSQL would otherwise refuse changes of the platform's tables. Names in them are qualified.
--
-- query: a select over the tables of the platform. Its columns are the fields of the type, with `key` instead of the
-- id. The select may lack columns for fields that may be null or have a default. The select of vouchers also has
-- `customer_name`, which only resolutions show. Keys and references that are no integers get ids from gateway.identity.
-- rules: the queries of gateway.install_rule by the names of sources; for all other sources, the primary key is the
-- key.
-- path: the schemas of unqualified names.
create or replace procedure gateway.prepare_mapping(mapped gateway.record_type, query text, rules jsonb, is_plain boolean, path text)
language plpgsql set search_path = pg_catalog, pg_temp
as $procedure$
declare
  source_query text;
  source regclass;
  query_of_rule text;
  columns text[];
  key_type text;
  missing text;
  is_safe boolean;
  read_fields text;
  read_more text;
  shape text;
  fields text;
  record_columns text;
  set_columns text;
  fresh_columns text;
  names jsonb; -- The values for the templates.
  nulls text; -- The reasons to reject rows without required values.
  more_errors text := '';
  more_writes text := '';
  key_column text;
  value_of_key text; -- The expression of the text of a key in gateway.identity.
  -- True when the record of a rejected row leaves its list.
  leaves constant text := format(
    case mapped when 'customer' then 'stale.marketing_opted and fresh.marketing_opted is not true or ' else '' end
    || 'fresh.%1$I is distinct from stale.%1$I',
    case mapped when 'tenant' then 'id' when 'variant' then 'product_id' else 'tenant_id' end);
begin
  call gateway.create_view('mapped_source', query, path);
  source_query := rtrim(pg_get_viewdef('pg_temp.mapped_source'::regclass), ';');
  select * into read_fields, read_more, shape, fields, nulls, missing, key_type from gateway.mapped_row(mapped, 'pg_temp.mapped_source');
  if missing is not null then
    raise exception 'The mapping of the type % has no column %.', mapped, missing using errcode = 'undefined_column';
  end if;
  key_column := case key_type when 'text' then 'key::text' else 'key' end;
  select string_agg(quote_ident(attname), ', '), string_agg(format('%1$I = fresh.%1$I', attname), ', ') filter (where attname <> 'id'),
         string_agg(format('fresh.%I', attname), ', ')
  into record_columns, set_columns, fresh_columns
  from pg_attribute where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attnum > 0 and not attisdropped;
  value_of_key := case key_type when 'uuid' then 'case when gateway.is_key(key, ''uuid'') then key::uuid end' else 'key' end;
  if key_type <> 'bigint' and (select mapping.key_type from gateway.mapping where record = mapped) = 'bigint' then
    execute format('insert into gateway.identity (kind, key, id) select %1$L, id::text, id from gateway.%1$I on conflict do nothing', mapped);
  end if;
  insert into gateway.mapping (record, files, is_plain, key_type, needs, code)
  values (mapped, jsonb_build_object('select', query, 'rules', rules, 'path', path), is_plain, key_type, '{}', '[]')
  on conflict on constraint mapping_pkey do update
  set files = excluded.files, is_plain = excluded.is_plain, key_type = excluded.key_type, needs = '{}', code = '[]';
  -- The shape includes the casts of the fields.
  execute format('create temporary view mapped_row as select row(%s, %s) is null from pg_temp.mapped_source',
                 read_fields, read_more);
  is_safe := gateway.runs_only_ours('pg_temp.mapped_row');
  call gateway.note_reads(mapped, 'pg_temp.mapped_source', 'pg_temp.mapped_row');

  for source, columns, query_of_rule in
    select read, gateway.shown_columns('pg_temp.mapped_source', read), coalesce(rules ->> relname, rules ->> concat_ws('.', nspname, relname))
    from gateway.relations_read_by('pg_temp.mapped_source') read
    join pg_class on pg_class.oid = read join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'p')
  loop
    call gateway.install_rule(mapped, source, query_of_rule, path, columns);
  end loop;
  delete from gateway.rule
  where record = mapped and coalesce(to_regclass(rule.source) not in (select gateway.relations_read_by('pg_temp.mapped_source')), true);
  drop view pg_temp.mapped_row, pg_temp.mapped_source;
  call gateway.grant_sources();

  if mapped not in ('tenant', 'variant') then
    more_errors := $errors$
      union all
      select id, 'tenant_id names no tenant: ' || tenant_id, tenant_id from unnest(fresh_rows)
      where not exists (select from gateway.tenant where tenant.id = tenant_id)$errors$;
  end if;

  -- gateway.write_tenant_paths records the removals of tenants. Categories and variants have no removals, because
  -- products show them.
  if mapped not in ('tenant', 'category', 'variant') then
    more_writes := E'\n' || gateway.filled('record_removals', jsonb_build_object(
      'record', mapped,
      'listed', case mapped when 'customer' then 'where marketing_opted' end,
      'withdrawn', case mapped when 'customer' then 'when fresh.marketing_opted is not true then ''consent_withdrawn''' end,
      'or_withdrawn', case mapped when 'customer' then 'or fresh.marketing_opted is not true) and (stale.marketing_opted' end));
  end if;

  if mapped = 'variant' then
    more_writes := $parents$
  written.parents := array(select product_id from unnest(fresh_rows) union select product_id from unnest(stale_rows));$parents$;
  elsif mapped = 'voucher' then
    more_writes := more_writes || $figures$
  perform gateway.write_entries(array(
    select id from unnest(written_rows) fresh full join unnest(stale_rows) stale using (id)
    where (fresh.tenant_id, fresh.reference, fresh.qr_token, fresh.purchase_timestamp, fresh.date_valid_start, fresh.ends_on,
           fresh.sold_product_id, fresh.product_title, fresh.recipient_name)
      is distinct from
          (stale.tenant_id, stale.reference, stale.qr_token, stale.purchase_timestamp, stale.date_valid_start, stale.ends_on,
           stale.sold_product_id, stale.product_title, stale.recipient_name)
    union all
    select * from gateway.entry_differences(array(select unnest(ids) except select unnest(written.changed)))));
  if counts then
    written.crosses := gateway.add_voucher_figures(written_rows, stale_rows);
  end if;$figures$;
  elsif mapped = 'customer' then
    more_writes := more_writes || $figures$
  insert into gateway.consent_withdrawal (tenant_id, withdrawn_at) select tenant_id, withdrawn_at from unnest(withdrawals);
  if counts then
    perform gateway.add_consent_figures(written_rows, stale_rows, withdrawals);
  end if;$figures$;
  end if;

  names := jsonb_build_object(
    'query', source_query, 'read_fields', read_fields, 'read_more', read_more, 'key', key_column,
    'record', mapped, 'fields', fields, 'shape', shape, 'more_errors', more_errors, 'more_writes', more_writes, 'key_type', key_type,
    'leaves', leaves, 'nulls', nulls, 'columns', record_columns, 'set_columns', set_columns, 'fresh_columns', fresh_columns,
    'record_keys', format(case key_type
      when 'bigint' then 'select id as key from gateway.%1$I where id < 9000000000000000 or id not in (
        select id from gateway.identity where kind = %1$L and gateway.own_id(key) is null)'
      else 'select %2$s as key from gateway.%1$I join gateway.identity using (id) where kind = %1$L and %2$s is not null' end,
      mapped, value_of_key),
    'other_keys', format('select key from gateway.%1$I join gateway.identity using (id) where kind = %1$L and %2$s', mapped,
      case key_type when 'bigint' then 'id >= 9000000000000000 and gateway.own_id(key) is null' else value_of_key || ' is null' end));
  -- The clock is checked for each row, because the time does not depend on the number of keys.
  call gateway.create_reader(
    format('gateway.read_%s(text[])', mapped), 'setof record stable',
gateway.filled('read', names));
  call gateway.create_reader(
    format('gateway.next_%s(text, integer)', mapped), 'setof text stable',
gateway.filled('next', names));
  execute concat(gateway.filled('source_of', names), gateway.filled('scan', names), gateway.filled('write', names));
  -- Creating the index would lock the table, even if the index exists.
  if key_type = 'uuid' and to_regclass('gateway.identity_' || mapped) is null then
    execute format('create index %I on gateway.identity ((%s)) where kind = %L', 'identity_' || mapped, value_of_key, mapped);
  end if;

  if mapped = 'voucher' then
    -- The function returns no set, because a set costs as much as the read.
    call gateway.create_reader(
      'gateway.read_present(text, out gateway.evaluated_voucher)', 'gateway.evaluated_voucher',
gateway.filled('read_present', names), is_safe,
      on_error => $handler$
      -- Errors of the system, of a lock, or of a mapping that does not fit.
      if sqlstate ~ '^(40|42|53|55P03|57|58|P0004)' then
        raise;
      end if;
      $2 := (null, null, null, sqlerrm)::gateway.evaluated_voucher;$handler$);
    execute gateway.filled('read_present_voucher', jsonb_build_object(
      'key_of_id', case key_type when 'bigint' then 'present_id::text' else '(gateway.keys_of(''voucher'', array[present_id]))[1]' end,
      'voucher', case when read_more like 'array[]%' then 'source.voucher'
        else format('(select row(%s)::gateway.voucher_fields from (select (source.voucher).*, source.keys) mapping)', fields) end));
    grant execute on function gateway.read_present_voucher to voucher_gateway;
  end if;

  execute (select string_agg(format('revoke execute on function %s from public', oid::regprocedure), '; ')
           from pg_proc
           where pronamespace = 'gateway'::regnamespace
             and proname in ('source_of_' || mapped, 'scan_' || mapped, 'write_' || mapped, 'read_present_voucher'));
end $procedure$;
