create or replace trigger capture_truncated after truncate on {table}
  for each statement execute function gateway.capture_truncated({types});
alter table {table} enable always trigger capture_truncated;
