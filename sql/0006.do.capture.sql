-- Capture: triggers on the sources note which keys were written, and in which transaction. Nothing else happens in a writer's
-- transaction: a step (0008) reads the notes later.

-- Rows are only added, and deleted when no step needs them any more: a long transaction of others leaves no dead rows among
-- those that a step reads.
create table gateway.note (
  record    gateway.record_type not null,
  key       text, -- In the source; with a rule: the columns of the row that the rule reads. Null: all records of this type.
  reason    text, -- Why all of them.
  truncated boolean, -- True: the source lost rows that no other note names. Null, which takes no bytes: it did not.
  source    text, -- Whose rule leads from the key to those of the records (gateway.rule); null: it is one.
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
  columns text[] not null, -- That lead to the keys of the records.
  affects text,          -- The function that returns these for some rows; null: the only column has the key.
  shown   text[],        -- With a function: those that records show. Updates of others are not noted. Null: not known, so all are.
  is_captured boolean not null default false, -- Whether the triggers of the source follow it.
  primary key (record, source)
);
grant select on gateway.rule to voucher_gateway;
