-- A mapping that does not fit the tables of the platform during an upgrade keeps the functions of the version before, until it fits: then
-- a step prepares it (gateway.check_fitting).
alter table gateway.broken_mapping add column is_unprepared boolean not null default false;
comment on column gateway.broken_mapping.is_unprepared is 'Whether an upgrade could not prepare it: its functions are of the version before';
