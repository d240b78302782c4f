-- The role of the service, its settings, and how migrations lock the platform's tables.
--
-- Each later file grants the role its rights on the tables that the file creates; gateway.add_list (0012) on each list.

-- The service works under this role, independent of its login role: it cannot change what it has written to the audit. A
-- role belongs to the cluster, so another database may have created it.
do $$
begin
  if not exists (select from pg_roles where rolname = 'voucher_gateway') then
    create role voucher_gateway nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise exception 'The role voucher_gateway is missing, and % may not create it.', quote_ident(current_user)
      using errcode = 'insufficient_privilege',
            hint = format('Let an administrator of the database run: create role voucher_gateway nologin; '
                          'grant voucher_gateway to %I;', current_user);
end $$;

do $$
begin
  -- From PostgreSQL 16 on, a member may not always set the role, and a login that may create roles may not grant all of them.
  if not pg_has_role(current_user, 'voucher_gateway',
                     case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end) then
    execute format('grant voucher_gateway to %I', current_user);
  end if;
exception
  when insufficient_privilege then
    raise exception '% may not set the role voucher_gateway, which another login has created.', quote_ident(current_user)
      using errcode = 'insufficient_privilege',
            hint = format('Let an administrator of the database run: grant voucher_gateway to %I;', current_user);
end $$;

-- Every login may use the schema, because writers call its functions through triggers.
grant usage on schema gateway to public;
grant usage on schema public, gateway to voucher_gateway;
grant select on public.tenant, public.category, public.product_category, public.variant to voucher_gateway;
grant select on gateway.migration to voucher_gateway;

-- Values that all instances share, for example the key that encrypts cursors.
create table gateway.setting (
  name       text primary key,
  value      bytea not null,
  created_at timestamptz not null default now()
);
grant select, insert (name, value) on gateway.setting to voucher_gateway;

-- Locks tables of the platform until the end of a migration's transaction, in one call before its first trigger or foreign
-- key of them. Writers wait during the migration, and also while it waits for its locks. So that wait ends after 100
-- ms, and the migration is tried again later. The statements after the call should take only some milliseconds.
create procedure gateway.lock_against_writers(variadic tables regclass[])
language plpgsql
as $$
declare
  ends_at timestamptz;
  each_table regclass;
begin
  -- Writers do not wait for this lock. Waiting for it cancels an autovacuum, after deadlock_timeout.
  perform set_config('lock_timeout', '2s', true);
  execute format('lock table %s in share update exclusive mode', array_to_string(tables, ', '));
  ends_at := clock_timestamp() + interval '100 ms';
  foreach each_table in array tables loop
    perform set_config('lock_timeout',
      greatest(1, extract(epoch from ends_at - clock_timestamp()) * 1000)::integer::text, true);
    execute format('lock table %s in share row exclusive mode', each_table);
  end loop;
end $$;
