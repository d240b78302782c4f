create or replace trigger capture_inserted after insert on {table} referencing new table as changed
  for each statement execute function {function}();
create or replace trigger capture_deleted after delete on {table} referencing old table as changed
  for each statement execute function {function}();
create or replace trigger capture_updated after update on {table} referencing old table as former new table as changed
  for each statement execute function {function}();
