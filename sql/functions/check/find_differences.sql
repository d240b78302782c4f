-- Returns the records that differ from their source, except the records that a step will still evaluate.
--
-- last: the last step that the snapshot shows.
create or replace function gateway.find_differences(type gateway.record_type, keys text[], last gateway.step)
returns setof gateway.record_difference
language plpgsql
as $$
declare
  half constant integer := cardinality(keys) / 2;
  compared constant text[] := array(
    select key from unnest(keys) key where gateway.short_key(key) not in (select key from gateway.rejected where record = type));
  differences gateway.record_difference[];
begin
  execute format($differing$
    select array_agg((
      '%1$s', given.key,
      array(select name from jsonb_each(to_jsonb(fresh)) fresh_column (name, value)
            join jsonb_each(to_jsonb(stale)) stale_column (name, stale_value) using (name) where value <> stale_value),
      case when stale is null then 'There is no record.' when fresh is null then 'The source has no row.'
           when fresh is not distinct from stale::gateway.%1$s_fields then 'Its entry differs.' end
    )::gateway.record_difference)
    from unnest($1, $2) given (key, id)
    left join (select fresh, id from gateway.source_of_%1$s($1, false) fresh) source using (id)
    left join (select stale, id from gateway.%1$s stale where id = any($2)) record using (id)
    -- A key without an id is a new key.
    where (fresh is distinct from stale::gateway.%1$s_fields or id is null %2$s)
      and not exists (select from gateway.waiting_key where record = '%1$s' and gateway.short_key(key) = gateway.short_key(given.key))
      and not exists (select from gateway.notes_after(($3).snapshot) note where note.record = '%1$s' and note.key = given.key)
    $differing$, type, case type when 'voucher' then 'or id in (select gateway.entry_differences($2))' end)
  into differences using compared, gateway.ids_of(type, compared, false), last;
  return query
    select * from unnest(differences) where (record, key) not in (select record, key from gateway.affected_keys(last.snapshot));
exception
  when syntax_error_or_access_rule_violation or lock_not_available then
    raise;
  when others then
    if gateway.passes_by_itself(sqlstate) then
      raise;
    elsif half = 0 then -- A step that evaluates this key rejects it.
      return next (type, keys[1], null, sqlerrm)::gateway.record_difference;
    else
      return query select * from gateway.find_differences(type, keys[:half], last);
      return query select * from gateway.find_differences(type, keys[half + 1:], last);
    end if;
end $$;
