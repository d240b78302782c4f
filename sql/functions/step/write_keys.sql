-- Calls gateway.write_<type> for keys. When the evaluation of one key fails, rejects the key. When the mapping does not
-- fit the tables, records that. When a table is locked, the keys wait. When too many tenants would be removed, a scan
-- checks whether their removal is allowed.
--
-- outcome: null, or the reason why no key was evaluated: `locked`, or `too many`.
create or replace function gateway.write_keys(
  type gateway.record_type, keys text[], latest timestamptz, counts boolean, out written gateway.written, out outcome text)
language plpgsql
as $$
declare
  is_one constant boolean := cardinality(keys) = 1;
  again record;
begin
  written.latest := latest;
  perform set_config('gateway.read_until', case when is_one then '' else (clock_timestamp() + interval '300 milliseconds')::text end, true);
  execute format('select * from gateway.write_%s($1, $2, $3)', type) into written using keys, latest, counts;
  call gateway.require_unchanged_sources(type);
  if type = 'tenant' and counts and current_setting('gateway.allows_removals', true) is distinct from 'on'
    and (select count(*) > gateway.most_removals(type, count(*) + (select count(*) from gateway.tenant))
         from unnest(written.changed) leaving where not exists (select from gateway.tenant where id = leaving))
  then
    raise exception 'too many tenants leave' using errcode = 'GW002';
  end if;
exception
  when sqlstate 'GW002' then
    -- Tenants that have a row stay.
    again := gateway.write_keys(type, gateway.keys_of(type, array(select id from gateway.source_of_tenant(keys, true))), latest, counts);
    written := again.written;
    outcome := again.outcome;
    perform gateway.request_scan(type, 'Many of its rows are missing.');
  when syntax_error_or_access_rule_violation then
    insert into gateway.broken_mapping (record, reason) values (type, left(sqlerrm, 2000)) on conflict do nothing;
  when lock_not_available then
    outcome := 'locked';
  when query_canceled or out_of_memory or configuration_limit_exceeded then
    if sqlstate = '57014' and not gateway.is_late() then
      raise;
    end if;
    outcome := 'too many';
    if is_one then
      -- The call is repeated once, because the server may have caused the error.
      insert into gateway.rejected (record, key, reason)
      values (type, gateway.short_key(keys[1]), 'It cannot be evaluated within the limits of a step: ' || sqlerrm) on conflict do nothing;
      if found then
        insert into gateway.note (record, key) values (type, keys[1]);
      end if;
      outcome := null;
    end if;
  when others then
    if gateway.passes_by_itself(sqlstate) then
      raise;
    elsif not is_one then
      outcome := 'too many';
    else
      insert into gateway.rejected (record, key, reason) values (type, gateway.short_key(keys[1]), left(sqlerrm, 2000))
      on conflict (record, key) do update set reason = excluded.reason, tenant_id = null;
    end if;
end $$;
