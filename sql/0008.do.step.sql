-- Steps: one at a time takes the new notes, evaluates the mapping for their keys, and writes the records that differ. A step is
-- one REPEATABLE READ transaction, so all that it reads is of one instant, and what it writes becomes visible at once.

-- A step begins with `lock table gateway.step_lock in exclusive mode nowait`, which comes before its snapshot.
create table gateway.step_lock ();

-- Rows are added and never changed: the last one is found at the end of the index, past no dead rows.
create table gateway.step (
  stamp       timestamptz primary key, -- Later than the stamps of its records, and earlier than all stamps of later steps.
  snapshot    pg_snapshot not null,    -- The next step takes the notes of the transactions that it does not show.
  waited      bigint not null,         -- The last place of gateway.waiting_key that was worked off.
  epoch       bigint not null,         -- The epoch of gateway.sync_state.
  is_complete boolean not null,        -- False: the first fill goes on, and records are missing.
  behind_since timestamptz             -- All changes that were committed before it are in the records; null: before the stamp.
);
comment on table gateway.step is 'The last steps: server_time is the stamp of the last one';

-- Keys that wait, each once, because a step evaluates a thousand at most: small transactions overtake large ones. The step that takes
-- them deletes them.
create table gateway.waiting_key (
  place  bigint generated always as identity primary key,
  record gateway.record_type not null,
  key    text not null
);
create unique index waiting_key_once on gateway.waiting_key (record, gateway.short_key(key));

-- A changed row of a source: what gateway.note has of it.
create type gateway.source_row as (record gateway.record_type, source text, key text);

-- Rows whose rules lead to more keys than a step takes. They wait once, however often they change, and become waiting keys when few
-- of these are left: a row on which many records depend may change more often than all of them can be evaluated.
create table gateway.waiting_row of gateway.source_row;
create unique index waiting_row_once on gateway.waiting_row (record, source, md5(key));

-- Types whose mapping does not fit the tables of the platform any more.
create table gateway.broken_mapping (
  record gateway.record_type primary key,
  reason text not null,
  since  timestamptz not null default clock_timestamp()
);

-- Transactions with more notes than a step takes. Steps take these in parts, in the order in which they lie in the table.
create table gateway.large_transaction (
  xid   xid8 primary key,
  file  oid not null default pg_relation_filenode('gateway.note'), -- Another one: the notes lie elsewhere now.
  block bigint not null default 0 -- The notes before it were taken.
);

-- Why steps fail, until as many were made as failed.
create table gateway.step_failure (
  only_row boolean primary key default true check (only_row),
  since    timestamptz not null default clock_timestamp(),
  latest   timestamptz not null default clock_timestamp(),
  times    integer not null default 1,
  code     text not null,
  message  text not null -- Without values of rows.
);
grant select on gateway.broken_mapping, gateway.large_transaction, gateway.step_failure to voucher_gateway;
grant update on gateway.step_lock to voucher_gateway;

-- A key of a source.
create type gateway.record_key as (record gateway.record_type, key text);
grant select on gateway.note, gateway.step, gateway.waiting_key, gateway.waiting_row, gateway.scan to voucher_gateway;
