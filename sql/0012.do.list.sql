-- The tables that have a list for each tenant, which clients copy.

-- Stamps the rows of a list (0004) and records its truncation (0007), in ordinary sessions and in appliers (0009). `always`
-- means that replication appliers also fire a trigger. Triggers of one event run in the order of their names: rows are
-- stamped last.
--
-- stamping: the function that stamps a row. truncation: the arguments of gateway.record_truncated.
create procedure gateway.add_stamps(stamped regclass, stamping regproc, truncation text)
language plpgsql
as $$
begin
  -- The condition queues the commit event once for a transaction; as a function it would cost 2 % of a transaction that
  -- inserts one row.
  execute format($triggers$
    create trigger z_stamp before insert or update on %1$s for each row execute function %2$s();
    create constraint trigger z_finalize_stamps after insert or update on %1$s deferrable initially deferred
      for each row when (case when current_setting('gateway.commit_event', true) = 'wanted'
                              then set_config('gateway.commit_event', 'queued', true) is not null end)
      execute function gateway.finalize_stamps();
    create trigger record_truncated before truncate on %1$s
      for each statement execute function gateway.record_truncated(%3$s);
    create trigger a_require_read_committed before truncate on %1$s
      for each statement execute function gateway.require_read_committed('A truncation');
    create trigger b_finalize_stamps before truncate on %1$s
      for each statement execute function gateway.finalize_stamps_before_truncate();
    alter table %1$s
      enable always trigger z_stamp, enable always trigger z_finalize_stamps, enable always trigger record_truncated,
      enable always trigger a_require_read_committed, enable replica trigger b_finalize_stamps$triggers$,
    stamped, stamping, truncation);
end $$;

-- Adds the list of a table: its rows are stamped and their removals recorded (0007). The service may read the table.
--
-- The table is in schema public, has the columns id, tenant_id and updated_at, and an index on tenant_id, the stamp
-- expression and id. With a condition, another such index has the rows that the condition excludes.
--
-- name: the table. resource: what gateway.removal calls a record. condition: a boolean column; only rows in which it is true
-- are in the list. stamp: the expression that the list is ordered by before id.
create procedure gateway.add_list(name text, resource text, condition text default null, stamp text default 'updated_at')
language plpgsql
as $$
declare
  listed constant regclass := format('public.%I', name);
begin
  insert into gateway.list (name, resource, condition, stamp) values (name, resource, condition, stamp);
  call gateway.add_stamps(listed, 'gateway.stamp_row', concat_ws(', ', quote_literal(resource), quote_literal(condition)));
  execute format($triggers$
    grant select on %1$s to voucher_gateway;
    create constraint trigger record_moved after update on %1$s deferrable initially deferred
      for each row when ((old.tenant_id <> new.tenant_id or old.id <> new.id)%3$s)
      execute function gateway.record_removal(%2$L, 'moved');
    create constraint trigger record_deleted after delete on %1$s deferrable initially deferred
      for each row %4$s execute function gateway.record_removal(%2$L, 'deleted');
    alter table %1$s enable always trigger record_moved, enable always trigger record_deleted$triggers$,
    listed, resource, ' and old.' || condition || ' and new.' || condition, 'when (old.' || condition || ')');
end $$;

call gateway.lock_against_writers(
  'public.tenant', 'public.product', 'public.variant', 'public.purchased_voucher', 'public.customer');

-- Tenants are one list for all.
call gateway.add_stamps('public.tenant', 'gateway.stamp_tenant', quote_literal('tenant'));
call gateway.add_list('product', 'catalog_voucher', stamp => $$coalesce(updated_at, '-infinity')$$);
call gateway.add_list('purchased_voucher', 'purchased_voucher');
-- v1 shows the customers who consent to marketing now (R23).
call gateway.add_list('customer', 'marketing_signup', condition => 'marketing_opted');

-- Customers without consent are in no list, but figures count the consents that they gave. So changes of these
-- customers are also recorded as removals, of a resource that no client requests. This includes customers who never
-- consented: the follower (0017) may have read a consent that a later change has erased.
create constraint trigger record_consent_withdrawn after update on public.customer deferrable initially deferred
  for each row when (old.marketing_opted and not new.marketing_opted)
  execute function gateway.record_removal('marketing_signup', 'consent_withdrawn');
create constraint trigger record_unlisted_deleted after delete on public.customer deferrable initially deferred
  for each row when (not old.marketing_opted) execute function gateway.record_removal('customer', 'deleted');
create constraint trigger record_unlisted_moved after update on public.customer deferrable initially deferred
  for each row when (not old.marketing_opted and old.id <> new.id)
  execute function gateway.record_removal('customer', 'moved');
create trigger record_unlisted_truncated before truncate on public.customer
  for each statement execute function gateway.record_truncated('customer', 'not marketing_opted');
alter table public.customer
  enable always trigger record_consent_withdrawn, enable always trigger record_unlisted_deleted,
  enable always trigger record_unlisted_moved, enable always trigger record_unlisted_truncated;

-- A variant is in no list; the product that shows it is stamped (0006).
create function gateway.stamp_variant() returns trigger
language plpgsql
as $$
begin
  if not gateway.keeps_updated_at() and old *= new is not true then
    new.updated_at := clock_timestamp();
  end if;
  return new;
end $$;

create trigger z_stamp before insert or update on public.variant for each row execute function gateway.stamp_variant();
alter table public.variant enable always trigger z_stamp;

-- These functions write with the rights of their owner, so no other login may attach them to a table of its own.
-- PostgreSQL checks this right when a trigger is created, and not when it fires.
do $$
declare
  trigger_function regprocedure;
begin
  for trigger_function in
    select oid from pg_proc
    where pronamespace = 'gateway'::regnamespace and prosecdef and prorettype = 'trigger'::regtype
  loop
    execute format('revoke execute on function %s from public', trigger_function);
  end loop;
end $$;
