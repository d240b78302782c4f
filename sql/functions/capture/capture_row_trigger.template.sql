create or replace trigger capture_row after insert or update or delete on {table} for each row execute function {function}();
alter table {table} enable {mode} trigger capture_row;
