-- The tables that have a list for each tenant, which clients copy.

-- Adds the list of a table: its rows are stamped (0004) and their removals recorded (0007), in ordinary sessions and in
-- appliers (0009). The service may read the table.
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
  arguments constant text := concat_ws(', ', quote_literal(resource), quote_literal(condition));
begin
  if name !~ '^[a-z_][a-z0-9_]*$' then
    raise exception 'The name of the table must consist of lower-case letters, digits and _, for example gift_card';
  end if;
  insert into gateway.list (name, resource, condition, stamp) values (name, resource, condition, stamp);
  execute format(replace($triggers$
    grant select on public.TABLE to voucher_gateway;

    create trigger z_stamp before insert or update on public.TABLE for each row execute function gateway.stamp_row();
    call gateway.add_commit_event('public.TABLE');

    create constraint trigger record_moved after update on public.TABLE deferrable initially deferred
      for each row when ((old.tenant_id <> new.tenant_id or old.id <> new.id)%2$s)
      execute function gateway.record_removal(%1$L, 'moved');
    create constraint trigger record_deleted after delete on public.TABLE deferrable initially deferred
      for each row %3$s execute function gateway.record_removal(%1$L, 'deleted');
    create trigger record_truncated before truncate on public.TABLE
      for each statement execute function gateway.record_truncated(%4$s);
    create trigger a_require_read_committed before truncate on public.TABLE
      for each statement execute function gateway.require_read_committed('A truncation');
    create trigger b_finalize_stamps before truncate on public.TABLE
      for each statement execute function gateway.finalize_stamps_before_truncate();

    alter table public.TABLE
      enable always trigger z_stamp, enable always trigger record_moved, enable always trigger record_deleted,
      enable always trigger record_truncated, enable always trigger a_require_read_committed,
      enable replica trigger b_finalize_stamps$triggers$,
    'TABLE', name), resource, ' and old.' || condition || ' and new.' || condition, 'when (old.' || condition || ')',
    arguments);
end $$;

-- Triggers of one event run in the order of their names: rows are stamped last. `always` means that replication
-- appliers also fire them.

call gateway.lock_against_writers(
  'public.tenant', 'public.product', 'public.variant', 'public.purchased_voucher', 'public.customer');

call gateway.add_list('product', 'catalog_voucher', stamp => $$coalesce(updated_at, '-infinity')$$);
call gateway.add_list('purchased_voucher', 'purchased_voucher');
-- v1 shows the customers who consent to marketing now (R23).
call gateway.add_list('customer', 'marketing_signup', condition => 'marketing_opted');

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

-- Tenants are one list for all.
create trigger z_stamp before insert or update on public.tenant for each row execute function gateway.stamp_tenant();
alter table public.tenant enable always trigger z_stamp;
call gateway.add_commit_event('public.tenant');

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
