-- Staging: copies of the tables of a platform on another server, which a subscription keeps in step. They have the names of the
-- platform's tables, because replication cannot rename, and mappings read them as they would read these.

-- The tables that a subscription fills.
create table gateway.staged_table (
  platform_oid oid primary key, -- At the platform.
  source       text not null unique, -- The name with the schema, as SQL.
  columns      jsonb not null, -- The columns of the platform that the table has: an array of gateway.platform_column.
  -- By names: the places of its `key`, its `generated` columns, the files of its `partitions`, and by oids the values of its enums.
  -- When one of these goes or changes, the log has no rows. And its `file`, with the transactions that wrote its `columns`.
  marks        jsonb not null,
  is_ignored   boolean not null, -- It is published and not read: no subscription has it, so it stays empty.
  needs_copy   text -- Why its rows are copied again, without the other tables; null: they need not.
);

-- A column of a table of the platform.
create type gateway.platform_column as (
  place     smallint, -- Its number: it keeps it when it is renamed.
  name      text,
  type      text, -- The base type of a domain, and text for types that only the platform's database has.
  standard  text, -- The value of rows that are older than the column, if it is one and the same.
  is_copied boolean -- Rows that are older than the column may have different values, which are copied.
);

-- The subscription to a platform on another server: one row, or none.
create table gateway.subscription (
  is_only    boolean primary key default true check (is_only),
  slot       text, -- Its slot at the platform; null before the first copy is complete.
  other_slot text, -- One to drop: of the former subscription, or of a copy that was interrupted. Or of a copy that goes on.
  server     text, -- The server that had the slot, with its timeline: another one after a failover.
  copied_at  timestamptz,
  needs_copy text, -- Why all tables are copied again; null: the subscription keeps them in step.
  -- What the last look at the platform found:
  seen_at    timestamptz,
  behind     bigint,   -- The bytes of its log that are not applied.
  behind_since timestamptz, -- Before the oldest change that may not be applied; null: all were.
  log_left   real,     -- The share of max_slot_wal_keep_size that is left; null: the platform keeps all.
  reasons    jsonb not null default '[]' -- Of src/reasons.ts.
);
grant select on gateway.subscription to voucher_gateway;
