-- The schema of the gateway, its role and its settings.
--
-- Each later file grants the role its rights on the tables that the file creates.

create schema if not exists gateway;
comment on schema gateway is 'Owned by the gateway; the platform writes to its own tables only';

-- The files of sql/ that were applied.
create table gateway.migration (
  version integer primary key,
  name    text not null,
  md5     text not null,
  run_at  timestamptz not null default now()
);

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

-- Every login may use the schema, because writers call its capture functions through triggers.
grant usage on schema gateway to public;
grant select on gateway.migration to voucher_gateway;

-- Values that all instances share, for example the key that encrypts cursors.
create table gateway.setting (
  name       text primary key,
  value      bytea not null,
  created_at timestamptz not null default now()
);
grant select, insert (name, value) on gateway.setting to voucher_gateway;
