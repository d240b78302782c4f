-- Bearer tokens, their tenants and permissions, and records of their use.

-- The secret is shown once and not stored: only its SHA-256 is.
create table gateway.token (
  id                bigint generated always as identity primary key,
  name              text not null check (name <> '' and length(name) <= 200),
  contact           text check (contact <> '' and length(contact) <= 200),
  token_hash        bytea not null unique check (length(token_hash) = 32),
  hint              text not null,
  permissions       text[] not null default '{}' check (
    permissions <@ array['view_vouchers', 'view_orders', 'export_customer_information', 'redeem_vouchers']),
  rate_limit        integer check (rate_limit between 1 and 1000000),
  created_by        text not null default 'command line' check (created_by <> ''),
  created_at        timestamptz not null default now(),
  expires_at        timestamptz check (expires_at > created_at),
  revoked_at        timestamptz,
  last_used_at      timestamptz,
  last_used_address text,
  rotated_from      bigint unique references gateway.token,
  revision          integer not null default 1,
  idempotency_key   text unique,
  session_hash      bytea check (length(session_hash) = 32)
);
comment on column gateway.token.contact is 'The person at the partner who is responsible for the token';
comment on column gateway.token.hint is 'What may be shown of the secret: its visible start and last four characters';
comment on column gateway.token.rate_limit is 'Operations a minute; null: the default of the service';
comment on column gateway.token.rotated_from is 'The token that this one replaced';
comment on column gateway.token.revision is 'Grows with each edit, so that the second of two edits at a time is rejected';
comment on column gateway.token.session_hash is 'The session of an administrator with which the token ends; null: none. Without a foreign key: ended sessions are deleted';
comment on column gateway.token.idempotency_key is 'Of the form that created the token: posted again, it creates no other';

-- The tenants that a token is authorised for, one by one (R21). While a tenant is absent, they reach nothing.
create table gateway.token_tenant (
  token_id         bigint not null references gateway.token on delete cascade,
  tenant_id        bigint not null,
  with_descendants boolean not null default false,
  primary key (token_id, tenant_id)
);
create index token_tenant_tenant on gateway.token_tenant (tenant_id);

-- The redemption tokens that resolutions issued (R26). No foreign key to the voucher: it may leave
-- its list.
create table gateway.redemption_token (
  token_hash bytea primary key check (length(token_hash) = 32),
  voucher_id bigint not null,
  tenant_id  bigint not null,
  token_id   bigint not null references gateway.token on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at)
);
create index redemption_token_expires_at on gateway.redemption_token (expires_at);

-- Requests a day. A token has few operations and statuses, so a day is a handful of rows.
create table gateway.request_count (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  operation text not null,
  status    integer not null,
  requests  bigint not null,
  primary key (token_id, day, operation, status)
);
create index request_count_day on gateway.request_count (day);

-- The errors of answers, by day.
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

-- The number of records with personal data that a token read, by day: a summary of the audit for the page of the token.
create table gateway.token_export (
  token_id  bigint not null references gateway.token on delete cascade,
  day       date not null,
  tenant_id bigint not null,
  records   bigint not null,
  last_at   timestamptz not null,
  primary key (token_id, day, tenant_id)
);
create index token_export_day on gateway.token_export (day);

-- Only the rights that the statements of the service need to write: test/db/grants.test.ts compares.
grant select,
      insert (name, contact, token_hash, hint, permissions, rate_limit, created_by, expires_at, rotated_from,
              idempotency_key, session_hash),
      update (name, contact, permissions, rate_limit, expires_at, revoked_at, last_used_at, last_used_address, revision)
  on gateway.token to voucher_gateway;
grant select, insert, delete, update (with_descendants) on gateway.token_tenant to voucher_gateway;
grant select (expires_at), insert (token_hash, voucher_id, tenant_id, token_id, expires_at), delete
  on gateway.redemption_token to voucher_gateway;
grant select, insert, delete, update (requests) on gateway.request_count to voucher_gateway;
grant select, insert, delete, update (requests, last_at) on gateway.request_error to voucher_gateway;
grant select, insert, delete, update (records, last_at) on gateway.token_export to voucher_gateway;
