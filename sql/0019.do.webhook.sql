-- Webhooks: the endpoints of tokens, to which the service sends events (R36).
create table gateway.webhook_endpoint (
  id             bigint generated always as identity primary key,
  token_id       bigint not null references gateway.token on delete cascade,
  url            text not null check (length(url) <= 2000),
  created_at     timestamptz not null default now(),
  created_by     text not null check (created_by <> ''),
  starts_at      timestamptz not null,
  delivered_to   timestamptz not null,
  epoch          bigint not null,
  access         text not null default '',
  secret_version integer not null default 1,
  rotated_at     timestamptz,
  failing_since  timestamptz,
  paused_at      timestamptz,
  pause_reason   text check (pause_reason in ('administrator', 'failing', 'gone')),
  generation     integer not null default 1,
  revision       integer not null default 1,
  check ((paused_at is null) = (pause_reason is null))
);
create unique index webhook_endpoint_token_url on gateway.webhook_endpoint (token_id, url);
comment on column gateway.webhook_endpoint.starts_at is 'Of a list without a position, later changes are sent';
comment on column gateway.webhook_endpoint.delivered_to is 'All changes up to this instant were delivered';
comment on column gateway.webhook_endpoint.epoch is 'The epoch (gateway.sync_state) of which all lists were delivered';
comment on column gateway.webhook_endpoint.access is 'Differs when the token has other tenants or permissions than when delivered_to was written';
comment on column gateway.webhook_endpoint.failing_since is 'The first failure after the last success';
comment on column gateway.webhook_endpoint.generation is 'Grows when changes are sent again from an earlier instant';
comment on column gateway.webhook_endpoint.revision is 'Grows with each change by an administrator, so that the sender begins with the present state';

-- How far each list was delivered to an endpoint, and what is being tried.
create table gateway.webhook_position (
  endpoint_id  bigint not null references gateway.webhook_endpoint on delete cascade,
  tenant_id    bigint not null,
  record       gateway.record_type not null,
  delivered_to timestamptz,
  since        timestamptz,
  until        timestamptz,
  generation   integer not null,
  primary key (endpoint_id, tenant_id, record)
);
comment on column gateway.webhook_position.generation is 'Of the endpoint. A row of a former generation counts as missing';
comment on column gateway.webhook_position.until is 'The end of the window that is tried until it is delivered; null: none';

-- The last tries, for a week.
create table gateway.webhook_delivery (
  endpoint_id bigint not null references gateway.webhook_endpoint on delete cascade,
  id          bigint generated always as identity,
  at          timestamptz not null default now(),
  message_id  text not null,
  type        text not null,
  tenant_id   bigint,
  status      integer,
  error       text,
  duration_ms integer not null,
  primary key (endpoint_id, id)
);

-- One process of all instances sends, while it holds this row.
create table gateway.webhook_sender (
  only_row   boolean primary key default true check (only_row),
  instance   text not null,
  held_until timestamptz not null
);
insert into gateway.webhook_sender (instance, held_until) values ('', '-infinity');

grant select, insert (token_id, url, created_by, starts_at, delivered_to, epoch),
      update (token_id, starts_at, delivered_to, epoch, access, secret_version, rotated_at, failing_since, paused_at, pause_reason,
              generation, revision), delete
  on gateway.webhook_endpoint to voucher_gateway;
grant select, insert (endpoint_id, tenant_id, record, since, until, generation), update (delivered_to, since, until, generation)
  on gateway.webhook_position to voucher_gateway;
grant select, insert (endpoint_id, message_id, type, tenant_id, status, error, duration_ms), delete
  on gateway.webhook_delivery to voucher_gateway;
grant select, update (instance, held_until) on gateway.webhook_sender to voucher_gateway;
