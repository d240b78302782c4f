-- What the instances of the service share to count together. Unlogged: the tables are written often, and empty after a crash
-- of the server they are as good as new.

-- How often something happened in a window of time: operations of a caller (R28), attempts to sign in.
create unlogged table gateway.rate_window (
  key       text primary key,
  used      bigint not null,
  resets_at timestamptz not null
) with (fillfactor = 50);
create index rate_window_resets_at on gateway.rate_window (resets_at);
comment on column gateway.rate_window.resets_at is 'When the window ends; then the row is as good as absent';

-- The instances that run, so that one which is alone counts in its memory.
create unlogged table gateway.instance (
  id           uuid primary key,
  seen_at      timestamptz not null,
  counts_alone boolean not null
) with (fillfactor = 50);
comment on column gateway.instance.counts_alone is 'Whether it may count in its memory: another instance waits until it does not';

grant select, insert, update (used, resets_at), delete on gateway.rate_window to voucher_gateway;
grant select, insert, update (seen_at, counts_alone), delete on gateway.instance to voucher_gateway;
