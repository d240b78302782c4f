create or replace trigger record_truncation before truncate on gateway.removal
  for each statement execute function gateway.record_purge();
alter table gateway.removal enable always trigger record_truncation;
