-- Returns the notes that this transaction can see, and that a step with the given snapshot has not taken (I2). They
-- include all notes of a large transaction that the step has taken in part.
create or replace function gateway.notes_after(taken pg_snapshot) returns setof gateway.note
language sql stable
begin atomic
  select * from gateway.note where xid >= pg_snapshot_xmax(taken)
  union all
  select * from gateway.note where xid = any(array(
    select pg_snapshot_xip(taken) union select xid from gateway.large_transaction where xid < pg_snapshot_xmax(taken)));
end;
grant execute on function gateway.notes_after to voucher_gateway;
