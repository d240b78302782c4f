-- The last step, if the next step would find no changes.
create or replace view gateway.quiet_step as
select last.* from (select * from gateway.step order by stamp desc limit 1) last
where is_complete and epoch = (select epoch from gateway.sync_state)
  and not exists (select from gateway.notes_after(snapshot)) and not exists (select from gateway.open_scan)
  and not exists (select from gateway.waiting_key where place > waited) and not exists (select from gateway.waiting_row);
