-- Administrators, their sessions, and the audit of the actions of administrators and of the service.
create table gateway.administrator (
  id            bigint generated always as identity primary key,
  email         text not null unique check (
    email = lower(email collate "und-x-icu") and email ~ '^[^@]+@[^@]+$'
    and email collate "C" ~ ('^' || gateway.visible() || '+$') and length(email) <= 254),
  password_hash text,
  subject       text unique,
  generation    integer not null default 1,
  created_at    timestamptz not null default now(),
  removed_at    timestamptz
);
comment on column gateway.administrator.password_hash is 'An scrypt key with its salt and settings, in base64; null: signs in through the OpenID provider only';
comment on column gateway.administrator.subject is 'The identity at the OpenID provider: issuer, a space, and sub';
comment on column gateway.administrator.generation is 'Grows when all sessions end, with a new password or a removal: sessions of another generation are not valid';

-- Links that work once: for the first administrator (no e-mail), or for an account that gets a (new) password.
create table gateway.invitation (
  token_hash bytea primary key check (length(token_hash) = 32),
  email      text,
  invited_by bigint references gateway.administrator on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at)
);
comment on column gateway.invitation.invited_by is 'The administrator who made the link, with whose account it ends; null: the command line';

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

-- The actions of administrators, each with its actor and address. The service can only add to it. Without foreign keys:
-- an entry outlives what it is about.
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
comment on column gateway.audit_entry.actor is 'The e-mail of an administrator, the name of a token, the command line, or the service';
comment on column gateway.audit_entry.administrator_id is 'The administrator whom the action is about, not the one who acted';
create index audit_entry_at on gateway.audit_entry (at, id);
create index audit_entry_token on gateway.audit_entry (token_id, at, id);
create index audit_entry_action on gateway.audit_entry (action, at, id);
create index audit_entry_tenant on gateway.audit_entry (tenant_id, at, id);

-- The last sign-in of each administrator. Without this index, the query for an administrator who never signed in scans
-- all entries.
create index audit_entry_sign_in on gateway.audit_entry (administrator_id, id) where action = 'administrator.sign_in';

-- Entries about a tenant that was granted to a token, or taken from it, name the tenant in their detail only. They are few.
create index audit_entry_grant on gateway.audit_entry (at, id) where action in ('token.create', 'token.edit');

-- Only the rights that the statements of the service need to write: test/db/grants.test.ts compares.
grant select, insert (email, password_hash, subject), update (password_hash, subject, generation, removed_at)
  on gateway.administrator to voucher_gateway;
grant select, insert (token_hash, email, invited_by, expires_at), delete on gateway.invitation to voucher_gateway;
grant select, insert (id_hash, administrator_id, generation, data, address, user_agent, expires_at),
      update (data, used_at), delete
  on gateway.session to voucher_gateway;

-- The id and the time of an entry come from the database.
grant select, insert (actor, address, action, token_id, administrator_id, tenant_id, detail) on gateway.audit_entry
  to voucher_gateway;
