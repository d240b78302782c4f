-- The schema of the gateway, its roles and its settings.
--
-- Each later file grants the role its rights on the tables that the file creates.

-- `create schema if not exists` needs the right to create one, even when an administrator has made it.
do $$ begin
  if to_regnamespace('gateway') is null then create schema gateway; end if;
end $$;
comment on schema gateway is 'Owned by the gateway; the platform writes to its own tables only';

-- The files of sql/ that were applied.
create table gateway.migration (
  version integer primary key,
  name    text not null,
  md5     text not null,
  run_at  timestamptz not null default now()
);

-- The files of sql/functions as they were run last, and the release that has run them.
create table gateway.definition (
  file    text primary key,
  md5     text not null,
  release text not null
);

-- The functions, views and tables as the last upgrade left them: a difference was made by other statements.
create table gateway.made_object (
  name   text primary key,
  md5    text not null, -- Of gateway.present_object.
  server integer not null -- The major version of PostgreSQL, which decides how that is written.
);

-- The service works under the role voucher_gateway, independent of its login role: it cannot change what it has written to the audit.
-- Mappings are evaluated as voucher_gateway_reader, which may only read their sources: code of others that they run gains nothing. A
-- role belongs to the cluster, so another database may have created it.
do $$
declare
  role text;
begin
  foreach role in array array['voucher_gateway', 'voucher_gateway_reader'] loop
    begin
      if not exists (select from pg_roles where rolname = role) then
        execute format('create role %I nologin', role);
      end if;
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise exception 'The role % is missing, and % may not create it.', role, quote_ident(current_user)
          using errcode = 'insufficient_privilege',
                hint = format('Let an administrator of the database run: create role %1$s nologin; grant %1$s to %2$I;',
                              role, current_user);
    end;
    begin
      -- From PostgreSQL 16 on, a member may not always set the role, and a login that may create roles may not grant all of them.
      if not pg_has_role(current_user, role,
                         case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end) then
        execute format('grant %I to %I', role, current_user);
      end if;
    exception
      when insufficient_privilege then
        raise exception '% may not set the role %, which another login has created.', quote_ident(current_user), role
          using errcode = 'insufficient_privilege',
                hint = format('Let an administrator of the database run: grant %s to %I;', role, current_user);
    end;
  end loop;
end $$;

-- Every login may use the schema, because writers call its capture functions through triggers.
grant usage on schema gateway to public;
grant select on gateway.migration, gateway.definition, gateway.made_object to voucher_gateway;

-- Values that all instances share, for example the key that encrypts cursors.
create table gateway.setting (
  name       text primary key,
  value      bytea not null,
  created_at timestamptz not null default now()
);
grant select, insert (name, value) on gateway.setting to voucher_gateway;
