-- Mappings: a select over the tables of the platform for each type of record. From each, functions follow that read the source and
-- write the records.

-- The installed mappings.
create table gateway.mapping (
  record gateway.record_type primary key,
  text   text not null
);
grant select on gateway.mapping to voucher_gateway;

-- Types of which all records are compared with their source, in the order of their keys.
create table gateway.scan (
  record          gateway.record_type primary key,
  reason          text not null,
  reached         bigint not null default 0, -- The key up to which they were compared.
  removed         bigint not null default 0, -- How many records had no row in the source.
  allows_removals boolean not null default false,
  stopped         text -- Why no step goes on with it.
);

-- Lets steps compare all records of a type, from the first key on. A scan that goes on, or has stopped, begins again, and keeps how
-- many records it has removed and whether it may remove more: else some requests would let it remove all of them.
create function gateway.request_scan(scanned gateway.record_type, why text, allows boolean default false) returns void
language sql
begin atomic
  insert into gateway.scan (record, reason, allows_removals) values (scanned, why, allows)
  on conflict (record) do update
  set reason = excluded.reason, allows_removals = scan.allows_removals or excluded.allows_removals, reached = 0, stopped = null;
end;

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

-- Installs the mapping of a type, if it differs from the installed one: creates the functions that read its source and that write
-- its records, and lets steps compare all records. The bodies of those that read it are text, so that PostgreSQL refuses no
-- change of the platform's tables because of them.
--
-- query: a select over the tables of the platform. Its columns are the fields of the type, but `key` is the id. That of vouchers
-- also has `customer_name`, which resolutions alone show.
create procedure gateway.install_mapping(mapped gateway.record_type, query text)
language plpgsql
as $procedure$
declare
  fields text;
  more_errors text := '';
  more_writes text := '';
begin
  if exists (select from gateway.mapping where record = mapped and text = query) then
    return;
  end if;
  insert into gateway.mapping values (mapped, query) on conflict (record) do update set text = excluded.text;
  delete from gateway.scan where record = mapped;
  perform gateway.request_scan(mapped, 'The mapping is new.');

  select string_agg(case
           when attname = 'id' then 'key'
           when attname = 'content' then 'gateway.product_content(key::bigint, tenant_id::bigint, category_ids::bigint[])'
           -- Of customers who do not consent, figures need no personal data, and no rule may keep it in the records.
           when attname = 'consented_at' then 'case when marketing_opted or gateway.is_instant(consented_at) then consented_at end'
           when mapped = 'customer' and attname not in ('tenant_id', 'marketing_opted', 'created_at')
             then format('case when marketing_opted then %I end', attname)
           else quote_ident(attname) end || '::' || format_type(atttypid, atttypmod), ', ' order by attnum)
  into fields
  from pg_attribute
  where attrelid = format('gateway.%I', mapped || '_fields')::regclass and attnum > 0 and not attisdropped;

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
create or replace function gateway.source_of_%1$s(ids bigint[]) returns setof gateway.%1$s_fields
language sql stable
as $body$
  select %2$s from (
%3$s
  ) mapping where key = any(ids)
$body$;

create or replace function gateway.source_keys_of_%1$s(after bigint, at_most integer) returns setof bigint
language sql stable
as $body$
  select key::bigint from (
%3$s
  ) mapping where key > after order by key limit at_most
$body$;

-- Evaluates the mapping for some keys, and writes the records that differ, with stamps after the latest one. With `counts`,
-- figures follow.
create or replace function gateway.write_%1$s(ids bigint[], latest timestamptz, counts boolean) returns gateway.written
language plpgsql
as $body$
declare
  fresh_rows gateway.%1$s_fields[];
  stale_rows gateway.%1$s[];
  written_rows gateway.%1$s[];
  readmitted bigint[];
  rejected_ids bigint[];
  withdrawals gateway.consent_withdrawal[];
  written gateway.written;
begin
  with deleted as (
    delete from gateway.rejected where record = '%1$s' and key = any(ids::text[]) returning key
  )
  select array_agg(key::bigint) into readmitted from deleted;
  select array_agg(fresh) filter (where (fresh).id is not null), array_agg(stale) filter (where (stale).id is not null)
  into fresh_rows, stale_rows
  from (select fresh, id from gateway.source_of_%1$s(ids) fresh) source
  full join (select stale, id from gateway.%1$s stale where id = any(ids)) record using (id)
  where fresh is distinct from stale::gateway.%1$s_fields or id = any(readmitted);

  with rejected as (
    insert into gateway.rejected
    select '%1$s', id, reason, waits_for::gateway.record_type, waits_id from (
      select id, case when gateway.is_identifier(id) then gateway.error_of(candidate)
                      else 'the key is not between 1 and 2^53 - 1' end as reason, null as waits_for, null::bigint as waits_id
      from unnest(fresh_rows) candidate%4$s
    ) rejected
    where reason is not null
    on conflict do nothing returning key::bigint as id
  )
  select array_agg(id) into rejected_ids from rejected;
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
end $body$$functions$, mapped, fields, query, more_errors, more_writes);

  if mapped = 'voucher' then
    execute format($function$
-- Evaluates the mapping for one voucher at present; no row: the source has none. A voucher that is as its record breaks no rule;
-- one that cannot be evaluated is shown as its record.
-- Volatile: it takes its snapshot after it has waited for locks, because an older one sees a rewritten table as empty.
create or replace function gateway.read_present_voucher(bigint) returns setof gateway.present_voucher
language plpgsql volatile security definer rows 1 set search_path = pg_catalog, pg_temp set row_security = off
as $body$
declare
  present gateway.present_voucher;
  is_record boolean;
begin
  select fresh, name, fresh is not distinct from stale::gateway.voucher_fields
  into present.voucher, present.customer_name, is_record
  from (select (%s)::gateway.voucher_fields as fresh, customer_name::text as name from (
%s
  ) mapping where key = $1 offset 0) source left join gateway.voucher stale on stale.id = $1;
  if found then
    -- In a statement of its own, because to prepare the rules takes longer than to read the voucher.
    if not is_record then
      present.error := coalesce(
        gateway.error_of(present.voucher),
        (select 'tenant_id names no tenant' where not exists (select from gateway.tenant where tenant.id = (present.voucher).tenant_id)));
    end if;
    return next present;
  end if;
exception when data_exception then
  return query select voucher::gateway.voucher_fields, null::text, sqlerrm from gateway.voucher where id = $1;
end $body$$function$, fields, query);
  end if;

  execute (select string_agg(format('revoke execute on function %1$s from public; grant execute on function %1$s to voucher_gateway',
                                    oid::regprocedure), '; ')
           from pg_proc
           where pronamespace = 'gateway'::regnamespace
             and proname in ('source_of_' || mapped, 'source_keys_of_' || mapped, 'write_' || mapped, 'read_present_voucher'));
end $procedure$;
