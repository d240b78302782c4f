-- Counts that the processes of the service share. Unlogged: the table is written often, and empty after a crash of the
-- server it is as good as new.

-- The count of events in a window of time: operations of a caller (R28), attempts to sign in.
create unlogged table gateway.rate_window (
  key       text primary key,
  used      bigint not null,
  resets_at timestamptz not null
) with (fillfactor = 50);
create index rate_window_resets_at on gateway.rate_window (resets_at);
comment on column gateway.rate_window.resets_at is 'When the window ends; then the row is as good as absent';
grant select, insert, update (used, resets_at), delete on gateway.rate_window to voucher_gateway;
