-- Who administers the gateway, what they did, and what tokens were used for.

alter table gateway.token
  add contact           text check (contact <> '' and length(contact) <= 200),
  add rate_limit        integer check (rate_limit between 1 and 1000000),
  add created_by        text not null default 'command line' check (created_by <> ''),
  add last_used_address text,
  add rotated_from      bigint unique references gateway.token,
  add revision          integer not null default 1;
comment on column gateway.token.contact is 'Who answers for it at the partner';
comment on column gateway.token.rate_limit is 'Operations a minute; null: what the service allows by default';
comment on column gateway.token.rotated_from is 'The token whose place this one took';
comment on column gateway.token.revision is 'Moves with each edit, so that of two at a time one is refused';

create table gateway.administrator (
  id            bigint generated always as identity primary key,
  email         text not null unique check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$'
                                            and length(email) <= 254),
  password_hash text,
  subject       text unique,
  created_at    timestamptz not null default now(),
  removed_at    timestamptz
);
comment on column gateway.administrator.password_hash is 'An scrypt key with its salt and setting, in base64; null: signs in through the OpenID provider alone';
comment on column gateway.administrator.subject is 'Who it is at the OpenID provider: issuer, a space, and sub';

-- One-time links: to make the first administrator (no e-mail), or to give an account its (new) password.
create table gateway.invitation (
  token_hash bytea primary key check (length(token_hash) = 32),
  email      text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at)
);

create table gateway.session (
  id_hash          bytea primary key check (length(id_hash) = 32),
  administrator_id bigint not null references gateway.administrator on delete cascade,
  data             jsonb not null,
  address          text,
  user_agent       text,
  created_at       timestamptz not null default now(),
  used_at          timestamptz not null default now(),
  expires_at       timestamptz not null
);
create index session_administrator on gateway.session (administrator_id);
create index session_expires_at on gateway.session (expires_at);

-- What was done, by whom and from where. The gateway's role can only add to it. It names what it speaks of without
-- foreign keys: it outlives it.
create table gateway.audit_entry (
  id               bigint generated always as identity primary key,
  at               timestamptz not null default clock_timestamp(),
  actor            text not null check (actor <> ''),
  address          text,
  action           text not null check (action <> ''),
  administrator_id bigint,
  token_id         bigint,
  tenant_id        bigint,
  detail           jsonb not null default '{}'
);
create index audit_entry_token on gateway.audit_entry (token_id, id);
create index audit_entry_action on gateway.audit_entry (action, id);
create index audit_entry_tenant on gateway.audit_entry (tenant_id, id);
comment on column gateway.audit_entry.actor is 'An administrator''s e-mail, a token''s name, or the command line';
comment on column gateway.audit_entry.administrator_id is 'The administrator whom the act concerns, not the one who acted';

-- Requests a day. Each token has few operations and statuses, so a day is a handful of rows.
create table gateway.token_usage (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  operation text not null,
  status    integer not null,
  requests  bigint not null,
  primary key (token_id, day, operation, status)
);
create index token_usage_day on gateway.token_usage (day);

create table gateway.token_refusal (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  operation text not null,
  code      text not null,
  reason    text not null,
  requests  bigint not null,
  last_at   timestamptz not null,
  primary key (token_id, day, operation, code, reason)
);
create index token_refusal_day on gateway.token_refusal (day);

-- The role under which the service works, whatever role it logs in as: it reads what the platform writes, and looks
-- after its own tables, but cannot change what it has put down in the audit.
do $$
begin
  if not exists (select from pg_roles where rolname = 'voucher_gateway') then
    create role voucher_gateway nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise exception 'the role voucher_gateway is missing, and % may not create it', current_user
      using hint = 'Let an administrator of the database run: create role voucher_gateway nologin; grant voucher_gateway to '
                   || quote_ident(current_user) || ' with admin option';
end $$;
do $$
begin
  -- From PostgreSQL 16 on, a member may not always become the role.
  if not pg_has_role(current_user, 'voucher_gateway',
                     case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end) then
    execute format('grant voucher_gateway to %I', current_user);
  end if;
end $$;

grant usage on schema public, gateway to voucher_gateway;
grant select on public.tenant, public.category, public.product, public.product_category, public.variant,
                public.purchased_voucher, public.customer to voucher_gateway;
grant select on all tables in schema gateway to voucher_gateway;
grant insert, update on gateway.setting to voucher_gateway;
grant insert, update, delete on gateway.token, gateway.token_tenant, gateway.redemption_token, gateway.administrator,
                                gateway.invitation, gateway.session, gateway.token_usage, gateway.token_refusal
  to voucher_gateway;
grant insert on gateway.audit_entry to voucher_gateway;
