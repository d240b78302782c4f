-- Mappings: a select over the tables of the platform for each type of record. gateway.prepare_mapping makes from each the functions
-- that read the source and write the records.
--
-- Views, functions, types and operators of a mapping may belong to others. So its text is only evaluated in functions of the role
-- voucher_gateway_reader (gateway.create_reader), also to parse or plan it: both run code.

-- The texts of what is made for a type or a source (sql/functions/**/*.template.sql), with names in braces (gateway.filled).
create table gateway.template (
  name text primary key,
  text text not null
);

-- The installed mappings.
create table gateway.mapping (
  record   gateway.record_type primary key,
  files    jsonb not null, -- The text of its select, the texts of its rules by the names of their sources, and the path of names in all.
  is_plain boolean not null, -- Whether it reads the plain tables (plain-tables.sql).
  key_type text not null, -- bigint: keys are ids. uuid or text: gateway.identity has the ids.
  slice    integer not null default 1000, -- How many keys a step evaluates at once: fewer when that took long.
  needs    text[] not null, -- Which rights voucher_gateway_reader needs for it, as `grant` has them.
  code     jsonb not null -- An array of `owner` and `objects`: whose code it ran when it was installed (gateway.code_of_others).
);
grant select on gateway.mapping to voucher_gateway;

-- Types of which all records are compared with their source, in the order of their keys.
create table gateway.scan (
  record          gateway.record_type primary key,
  reason          text not null,
  reached         text, -- The key up to which they were compared; null: none.
  removed         bigint not null default 0, -- How many records had no row in the source.
  allows_removals boolean not null default false,
  stopped         text, -- Why no step goes on with it.
  failed_at       timestamptz, -- When it was stopped. It is tried again.
  too_many        boolean not null default false, -- Whether it would have removed too many records; false: its source could not be read.
  again           boolean not null default false, -- Whether it was requested again after it began.
  rounds          integer not null default 0 -- How often it has begun again: other scans come first.
);

-- What a function has written.
create type gateway.written as (
  latest  timestamptz, -- The last stamp that it gave: each is a microsecond after the former one.
  changed bigint[],    -- The records that were written or deleted.
  parents bigint[],    -- The products that show these, or showed them, when they are variants.
  crosses boolean      -- Whether the set of large tenants has changed.
);

-- A voucher as its source has it at present.
create type gateway.present_voucher as (
  voucher       gateway.voucher_fields,
  customer_name text,
  error         text -- Why v1 cannot show it; null: it can.
);

-- The same before its keys have ids.
create type gateway.evaluated_voucher as (
  voucher       gateway.voucher_fields,
  keys          text[], -- As gateway.mapped_fields has them.
  customer_name text,
  failure       text    -- Why it could not be evaluated.
);
