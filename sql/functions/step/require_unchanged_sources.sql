-- Fails when a source of a type was truncated or rewritten after the snapshot, because the snapshot sees the table as
-- empty. The snapshot's row of pg_class still has the former file (I7).
create or replace procedure gateway.require_unchanged_sources(type gateway.record_type)
language plpgsql
as $$
begin
  if exists (
    select from gateway.rule
    cross join lateral gateway.tables_of(to_regclass(source)) part
    where record = type and (select relfilenode from pg_class where oid = part) <> pg_relation_filenode(part))
  then
    raise exception 'a source was rewritten during the step' using errcode = 'lock_not_available';
  end if;
end $$;
