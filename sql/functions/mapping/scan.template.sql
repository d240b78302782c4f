-- Returns the next keys of the source and of the records, up to `at_most` of each. If the key of a record is not a
-- value of the key's type, the key comes first. Plans are made for the value of `bound`, so that an index uses it if it
-- is not null.
--
-- reached: the key up to which the result is complete; null at the end.
-- lost: the number of keys that only records have.
create or replace function gateway.scan_{record}(after text, at_most integer, out keys text[], out reached text, out lost bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan
as $body$
declare
  bound constant {key_type} := case when gateway.is_key(after, '{key_type}') then after::{key_type} end;
  others constant text[] := case when bound is null then array(
    select key from ({other_keys}) record where after is null or key > after order by key limit at_most) end;
  source_keys {key_type}[];
  record_keys {key_type}[];
  last_key {key_type};
begin
  if cardinality(others) = at_most then
    select others, others[at_most], at_most into keys, reached, lost;
    return;
  end if;
  source_keys := array(select source_key::{key_type} from gateway.next_{record}(bound::text, at_most) source_key);
  record_keys := array(select key from ({record_keys}) record where bound is null or key > bound order by key limit at_most);
  -- After the last key of a full part there may be more keys.
  last_key := least(case when cardinality(source_keys) = at_most then source_keys[at_most] end,
                    case when cardinality(record_keys) = at_most then record_keys[at_most] end);
  select others || coalesce(array_agg(key::text), '{}'), coalesce(cardinality(others), 0) + count(*) filter (where is_lost), last_key
  into keys, lost, reached
  from (select key, bool_and(is_record) as is_lost
        from (select unnest(source_keys) as key, false as is_record union all select unnest(record_keys), true) found
        where last_key is null or key <= last_key group by key) key;
end $body$;
