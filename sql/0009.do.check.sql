-- Checks: records are compared with their sources, on demand and a little at a time, because capture cannot see everything:
-- triggers that were disabled, a table that was swapped by renaming.

-- How a record differs from its source.
create type gateway.record_difference as (
  record  gateway.record_type,
  key     text, -- Null: the source cannot be read.
  columns text[],
  reason  text -- Null: it differs in the columns.
);

-- How far the check of all records has come that goes on in the background.
create table gateway.check_progress (
  only_row boolean primary key default true check (only_row),
  record   gateway.record_type not null default 'tenant',
  reached  text, -- Null: nothing of this type.
  began    timestamptz, -- The last step when this round began; null: a record differed since, or was left out.
  verified_through timestamptz, -- When the last round began that found all records equal.
  differed bigint not null default 0 -- How many records differed in all rounds.
);
insert into gateway.check_progress default values;
grant select on gateway.check_progress to voucher_gateway;
