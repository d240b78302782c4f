-- The lists: tables of which each tenant has a list that clients copy.

-- Adds the list of a table: its rows are stamped (0004), and what leaves the list is recorded (0007), in ordinary sessions
-- and in appliers (0009). The service may read the table.
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
  -- The condition for a row that was there, and for a row that was and is there.
  was_listed constant text := coalesce('old.' || condition, 'true');
  stays_listed constant text := coalesce('old.' || condition || ' and new.' || condition, 'true');
begin
  if name !~ '^[a-z_][a-z0-9_]*$' then
    raise exception 'The name of the table must consist of lower-case letters, digits and _, for example gift_card';
  end if;
  insert into gateway.list (name, resource, condition, stamp) values (name, resource, condition, stamp);
  execute format(replace($triggers$
    grant select on public.TABLE to voucher_gateway;

    create trigger z_stamp_insert before insert on public.TABLE for each row execute function gateway.stamp_row();
    create trigger z_stamp_update before update on public.TABLE for each row
      when (old.* is distinct from new.*) execute function gateway.stamp_row();
    call gateway.add_commit_event('public.TABLE');

    create trigger record_moved after update on public.TABLE
      for each row when (%3$s and (old.tenant_id, old.id) is distinct from (new.tenant_id, new.id))
      execute function gateway.record_removal(%1$L, 'moved');
    create trigger record_deleted after delete on public.TABLE
      referencing old table as gone for each statement execute function gateway.record_deleted(%4$s);
    create trigger record_deleted_row after delete on public.TABLE
      for each row when (%2$s) execute function gateway.record_removal(%1$L, 'deleted');
    create trigger record_truncated before truncate on public.TABLE
      for each statement execute function gateway.record_truncated(%1$L);
    create trigger a_require_read_committed before truncate on public.TABLE
      for each statement execute function gateway.require_read_committed('A truncation');
    create trigger b_finalize_stamps before truncate on public.TABLE
      for each statement execute function gateway.finalize_stamps_before_truncate();

    alter table public.TABLE
      enable always trigger z_stamp_insert, enable always trigger z_stamp_update,
      enable always trigger record_moved, enable always trigger record_truncated,
      enable always trigger a_require_read_committed,
      enable replica trigger record_deleted_row, enable replica trigger b_finalize_stamps$triggers$,
    'TABLE', name), resource, was_listed, stays_listed, concat_ws(', ', quote_literal(resource), quote_literal(condition)));
end $$;

-- Triggers of one event run in the order of their names: rows are stamped last. `always` means that replication appliers
-- set them off, too.

call gateway.lock_against_writers(
  'public.tenant', 'public.product', 'public.variant', 'public.purchased_voucher', 'public.customer');

call gateway.add_list('product', 'catalog_voucher', stamp => $$coalesce(updated_at, '-infinity')$$);
call gateway.add_list('purchased_voucher', 'purchased_voucher');
-- v1 shows the customers who consent to marketing now (R23).
call gateway.add_list('customer', 'marketing_signup', condition => 'marketing_opted');

-- Tenants and variants have stamps, too. Tenants are one list for all; a variant is in none.
create trigger z_stamp_insert before insert on public.tenant for each row execute function gateway.stamp_tenant();
create trigger z_stamp_insert before insert on public.variant for each row execute function gateway.stamp_variant();

create trigger z_stamp_update before update on public.tenant for each row
  when (old.* is distinct from new.*) execute function gateway.stamp_tenant();
create trigger z_stamp_update before update on public.variant for each row
  when (old.* is distinct from new.*) execute function gateway.stamp_variant();

call gateway.add_commit_event('public.tenant');

alter table public.tenant enable always trigger z_stamp_insert, enable always trigger z_stamp_update;
alter table public.variant enable always trigger z_stamp_insert, enable always trigger z_stamp_update;

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
