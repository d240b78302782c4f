-- The state that tells clients when a copy cannot be brought up to date any more and needs a full pass: all lists are
-- read again (docs/guides/keeping-in-step.md).
--
-- A restore or a failover loses changes that clients have seen, and a purge deletes removals. Both move
-- removals_complete_since, and a client that resumes from before that instant gets an error. A restore and a failover
-- increase the epoch too, and let steps compare all records (0008).
create table gateway.sync_state (
  only_row                boolean primary key default true check (only_row),
  epoch                   bigint not null default extract(epoch from clock_timestamp())::bigint,
  removals_complete_since timestamptz not null default '-infinity',
  server_identity         text,
  former_server           text
);
comment on table gateway.sync_state is 'Exactly one row: decides whether a copy can be brought up to date';
comment on column gateway.sync_state.epoch is 'Grows each time that all copies have to be rebuilt; the second of that event in Unix time, so that a restored database does not repeat a number that clients have seen';
comment on column gateway.sync_state.removals_complete_since is 'From this instant on, gateway.removal holds all removals that a copy needs';
comment on column gateway.sync_state.server_identity is 'Identifier of the cluster, timeline and oid of the database: these change with a restore or a failover. Null: the service has not recorded them yet';
comment on column gateway.sync_state.former_server is 'The server before the present one, until an instance of the service has reported the change; else null';
insert into gateway.sync_state default values;
grant select on gateway.sync_state to voucher_gateway;
