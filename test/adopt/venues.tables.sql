-- A platform with other habits: a schema and names of its own, UUIDs and texts as keys, cents, an enum, a tree by path, soft
-- deletes, balances and consents as logs, times without a zone.
create schema shop;
create type shop.state as enum ('active', 'blocked');
create table shop.venue (
  id   uuid primary key default gen_random_uuid(),
  path text not null unique,
  name text not null,
  zone text not null default 'Europe/Berlin'
);
create table shop.item (
  id     uuid primary key default gen_random_uuid(),
  venue  uuid not null references shop.venue,
  name   text not null,
  cents  integer not null,
  active boolean not null default true
);
create table shop."Gift Card" (
  "No"         text primary key,
  venue        uuid not null references shop.venue,
  item         uuid references shop.item,
  code         varchar(40) not null,
  "valueCents" integer not null,
  currency     char(3) not null default 'EUR',
  state        shop.state not null default 'active',
  sold_at      timestamp not null default '2026-03-01 12:00',
  expires_at   timestamptz not null default 'infinity',
  deleted_at   timestamptz
);
create index on shop."Gift Card" (venue);
create index on shop."Gift Card" (item);
create table shop.redemption (
  card  text not null references shop."Gift Card",
  line  integer not null,
  cents integer not null,
  primary key (card, line)
);
create table shop.person (
  id         uuid primary key default gen_random_uuid(),
  venue      uuid not null references shop.venue,
  email      text,
  created_at timestamptz not null default '2026-01-01'
);
create table shop.consent (
  person uuid not null references shop.person,
  given  boolean not null,
  at     timestamptz not null,
  primary key (person, at)
);
