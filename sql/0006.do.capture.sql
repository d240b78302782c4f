-- Capture: triggers on the sources note which keys were written, and in which transaction. Nothing else happens in a writer's
-- transaction: a step (0008) reads the notes later.

-- Rows are only added, and deleted when no step needs them any more. So a step reads no dead rows, however long a transaction of
-- others is open.
create table gateway.note (
  record    gateway.record_type not null,
  key       text, -- In the source; with a rule: the columns of the row that the rule reads. Null: all records of this type.
  reason    text, -- Why all of them.
  truncated boolean, -- True: the source lost rows that no other note names. Null, which takes no bytes: it did not.
  source    text, -- The table whose rule finds the keys of the records (gateway.rule); null: the key is one.
  xid       xid8 not null default pg_current_xact_id()
);
comment on table gateway.note is 'The keys of records that have to be evaluated, because a row of a source was written';
create index note_xid on gateway.note (xid);
-- For resolutions: a large transaction may have a million notes of other types.
create index note_of_tenant on gateway.note (xid) where record = 'tenant';

-- Which records show a row of a source.
create table gateway.rule (
  record  gateway.record_type,
  source  text,          -- A table, with its schema.
  columns text[] not null, -- The columns that the rule reads.
  affects text,          -- The function that returns the keys of the records; null: the only column has the key.
  shown   text[],        -- With a function: the columns that records show: only their updates are noted. Null: not known.
  is_captured boolean not null default false, -- Whether the triggers of the source are made for this rule.
  primary key (record, source)
);
grant select on gateway.rule to voucher_gateway;
