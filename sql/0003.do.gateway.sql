-- What the gateway itself owns.

-- Values that all instances must agree on, such as the key that seals cursors.
create table gateway.setting (
  name       text primary key,
  value      bytea not null,
  created_at timestamptz not null default now()
);

-- Bearer tokens. The secret is shown once and never kept: only its SHA-256.
create table gateway.token (
  id           bigint generated always as identity primary key,
  name         text not null check (name <> '' and length(name) <= 200),
  token_hash   bytea not null unique check (length(token_hash) = 32),
  hint         text not null,
  permissions  text[] not null default '{}' check (
    permissions <@ array['view_vouchers', 'view_orders', 'export_customer_information', 'redeem_vouchers']),
  created_at   timestamptz not null default now(),
  expires_at   timestamptz check (expires_at > created_at),
  revoked_at   timestamptz,
  last_used_at timestamptz
);
comment on column gateway.token.hint is 'What may be shown of the secret: its visible start and last four characters';

-- The tenants a token is authorised for, one by one (R21).
create table gateway.token_tenant (
  token_id         bigint not null references gateway.token on delete cascade,
  tenant_id        bigint not null references public.tenant on delete cascade,
  with_descendants boolean not null default false,
  primary key (token_id, tenant_id)
);
create index token_tenant_tenant on gateway.token_tenant (tenant_id);

-- What a resolution issued (R26). No foreign key to the voucher: its check would lock the voucher's row,
-- and a resolution leaves that row alone.
create table gateway.redemption_token (
  token_hash bytea primary key check (length(token_hash) = 32),
  voucher_id bigint not null,
  tenant_id  bigint not null references public.tenant on delete cascade,
  token_id   bigint not null references gateway.token on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at)
);
create index redemption_token_expires_at on gateway.redemption_token (expires_at);
