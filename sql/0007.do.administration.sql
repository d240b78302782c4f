-- Who administers the gateway, what they did, and what tokens were used for.

alter table gateway.token
  add contact           text check (contact <> '' and length(contact) <= 200),
  add rate_limit        integer check (rate_limit between 1 and 1000000),
  add created_by        text not null default 'command line' check (created_by <> ''),
  add last_used_address text,
  add rotated_from      bigint unique references gateway.token,
  add revision          integer not null default 1,
  add idempotency_key           text unique;
comment on column gateway.token.contact is 'Who answers for it at the partner';
comment on column gateway.token.rate_limit is 'Operations a minute; null: what the service allows by default';
comment on column gateway.token.rotated_from is 'The token whose place this one took';
comment on column gateway.token.revision is 'Moves with each edit, so that of two at a time one is refused';
comment on column gateway.token.idempotency_key is 'The form that made it: posted again, it makes no other';

create table gateway.administrator (
  id            bigint generated always as identity primary key,
  email         text not null unique check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$'
                                            and length(email) <= 254),
  password_hash text,
  subject       text unique,
  generation    integer not null default 1,
  created_at    timestamptz not null default now(),
  removed_at    timestamptz
);
comment on column gateway.administrator.generation is 'Moves when all sessions end, with a new password or a removal: those of another generation do not hold';
comment on column gateway.administrator.password_hash is 'An scrypt key with its salt and setting, in base64; null: signs in through the OpenID provider alone';
comment on column gateway.administrator.subject is 'Who it is at the OpenID provider: issuer, a space, and sub';

-- One-time links: to make the first administrator (no e-mail), or to give an account its (new) password.
create table gateway.invitation (
  token_hash bytea primary key check (length(token_hash) = 32),
  email      text,
  invited_by bigint references gateway.administrator on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at)
);
comment on column gateway.invitation.invited_by is 'The administrator who made it, with whom it ends; null: the command line';

create table gateway.session (
  id_hash          bytea primary key check (length(id_hash) = 32),
  administrator_id bigint not null references gateway.administrator on delete cascade,
  generation       integer not null,
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
create index audit_entry_at on gateway.audit_entry (at, id);
create index audit_entry_token on gateway.audit_entry (token_id, at, id);
create index audit_entry_action on gateway.audit_entry (action, at, id);
create index audit_entry_tenant on gateway.audit_entry (tenant_id, at, id);
comment on column gateway.audit_entry.actor is 'An administrator''s e-mail, a token''s name, the command line, or the service';
comment on column gateway.audit_entry.administrator_id is 'The administrator whom the act concerns, not the one who acted';

-- Requests a day. Each token has few operations and statuses, so a day is a handful of rows.
create table gateway.request_count (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  operation text not null,
  status    integer not null,
  requests  bigint not null,
  primary key (token_id, day, operation, status)
);
create index request_count_day on gateway.request_count (day);

create table gateway.request_error (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  operation text not null,
  code      text not null,
  reason    text not null,
  requests  bigint not null,
  last_at   timestamptz not null,
  primary key (token_id, day, operation, code, reason)
);
create index request_error_day on gateway.request_error (day);

-- Personal data given out a day: what the audit says of it, summed up for the token's page.
create table gateway.token_export (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  tenant_id bigint not null,
  records   bigint not null,
  last_at   timestamptz not null,
  primary key (token_id, day, tenant_id)
);
create index token_export_day on gateway.token_export (day);

-- The role under which the service works, whatever role it logs in as: it reads what the platform writes, and looks
-- after its own tables, but cannot change what it has put down in the audit. It belongs to the whole cluster: another
-- database may have made it.
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
  -- From PostgreSQL 16 on, a member may not always become the role, and who may create roles may not grant all of them.
  if not pg_has_role(current_user, 'voucher_gateway',
                     case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end) then
    execute format('grant voucher_gateway to %I', current_user);
  end if;
exception
  when insufficient_privilege then
    raise exception '% may not work as the role voucher_gateway, which someone else has made.', quote_ident(current_user)
      using errcode = 'insufficient_privilege',
            hint = format('Let an administrator of the database run: grant voucher_gateway to %I;', current_user);
end $$;

grant usage on schema public, gateway to voucher_gateway;
grant select on public.tenant, public.category, public.product, public.product_category, public.variant,
                public.purchased_voucher, public.customer to voucher_gateway;
grant select on all tables in schema gateway to voucher_gateway;
grant insert, update on gateway.setting, gateway.token, gateway.administrator to voucher_gateway;
grant insert, delete on gateway.redemption_token, gateway.invitation to voucher_gateway;
grant insert, update, delete on gateway.token_tenant, gateway.session, gateway.request_count, gateway.request_error,
                                gateway.token_export to voucher_gateway;
-- Neither the number of an entry nor its time is the service's to say.
grant insert (actor, address, action, token_id, administrator_id, tenant_id, detail) on gateway.audit_entry
  to voucher_gateway;
