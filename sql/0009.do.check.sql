-- Checks: records are compared with their sources, on demand and a little at a time, because capture cannot see everything:
-- triggers that were disabled, a table that was swapped by renaming.

-- How a record differs from its source.
create type gateway.record_difference as (
  record  gateway.record_type,
  key     text, -- Null: the source cannot be read.
  columns text[],
  reason  text -- Null: it differs in the columns.
);

-- Returns the records that differ from their source, except those that a step will still evaluate.
--
-- last: the last step that the snapshot shows.
create function gateway.find_differences(type gateway.record_type, keys text[], last gateway.step)
returns setof gateway.record_difference
language plpgsql
as $$
declare
  half constant integer := cardinality(keys) / 2;
  compared constant text[] := array(
    select key from unnest(keys) key except select key from gateway.rejected where record = type);
  differences gateway.record_difference[];
begin
  execute format($differing$
    select array_agg((
      '%1$s', given.key,
      array(select name from jsonb_each(to_jsonb(fresh)) fresh_column (name, value)
            join jsonb_each(to_jsonb(stale)) stale_column (name, stale_value) using (name) where value <> stale_value),
      case when stale is null then 'There is no record.' when fresh is null then 'The source has no row.' end
    )::gateway.record_difference)
    from unnest($1, $2) given (key, id)
    left join (select fresh, id from gateway.source_of_%1$s($1, false) fresh) source using (id)
    left join (select stale, id from gateway.%1$s stale where id = any($2)) record using (id)
    -- A key without an id is new.
    where (fresh is distinct from stale::gateway.%1$s_fields or id is null)
      and not exists (select from gateway.waiting_key where place > ($3).waited and record = '%1$s' and key = given.key)
      and not exists (select from gateway.notes_after(($3).snapshot) note where note.record = '%1$s' and note.key = given.key)
    $differing$, type)
  into differences using compared, gateway.ids_of(type, compared, false), last;
  return query
    select * from unnest(differences) where (record, key) not in (select record, key from gateway.affected_keys(last.snapshot));
exception
  when transaction_rollback or insufficient_resources or operator_intervention or system_error
    or syntax_error_or_access_rule_violation or lock_not_available
  then
    raise;
  when others then
    -- A step that evaluates the key rejects it.
    if half = 0 then
      return next (type, keys[1], null, sqlerrm)::gateway.record_difference;
    else
      return query select * from gateway.find_differences(type, keys[:half], last);
      return query select * from gateway.find_differences(type, keys[half + 1:], last);
    end if;
end $$;

-- The types whose records have to be as their sources: no step will compare them.
create function gateway.comparable_types(last gateway.step) returns setof gateway.record_type
language sql stable
begin atomic
  select record from gateway.mapping
  where last.is_complete
    and record not in (select record from gateway.scan) and record not in (select record from gateway.broken_mapping)
    and record not in (select record from gateway.notes_after(last.snapshot) where key is null)
  order by record;
end;

-- Returns the records that differ from their source. Reads all, but no more of a source that cannot be read.
create function gateway.record_differences() returns setof gateway.record_difference
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set row_security = off set jit = off
as $$
declare
  last gateway.step;
  type gateway.record_type;
  part record;
  after text;
begin
  select * into last from gateway.step order by stamp desc limit 1;
  for type in select * from gateway.comparable_types(last) loop
    after := null;
    loop
      begin
        part := gateway.scan_keys(type, after, 5000);
        return query select * from gateway.find_differences(type, part.keys, last);
        after := part.reached;
      exception
        when transaction_rollback or insufficient_resources or operator_intervention or system_error or lock_not_available then
          raise;
        when others then
          return next (type, null, null, sqlerrm)::gateway.record_difference;
          after := null;
      end;
      exit when after is null;
    end loop;
  end loop;
end $$;

-- How far the check of all records has come that goes on in the background.
create table gateway.check_progress (
  only_row boolean primary key default true check (only_row),
  record   gateway.record_type not null default 'tenant',
  reached  text, -- Null: nothing of this type.
  began    timestamptz, -- The last step when this round began; null: a record differed since, or was left out.
  verified_through timestamptz, -- When the last round began that found all records equal.
  differed bigint not null default 0 -- How many records differed in all rounds.
);
insert into gateway.check_progress default values;
grant select on gateway.check_progress to voucher_gateway;

-- Compares the next records of the check, and lets a step evaluate those that differ, and again those that it has rejected. Returns
-- the keys of the former. A type that steps compare, or whose mapping does not fit, is left out. When more than a tenth of the records
-- have no row in the source, or it cannot be read, steps compare the whole type: a scan stops before it removes too much.
--
-- Its transaction is REPEATABLE READ, so that no step comes between its statements. Returns nothing while another one compares.
create function gateway.check_records(at_most integer) returns setof gateway.record_key
language plpgsql security definer set search_path = pg_catalog, pg_temp set row_security = off set jit = off
as $$
declare
  last gateway.step;
  progress gateway.check_progress;
  keys text[];
  next text;
  differing gateway.record_difference[];
  lost constant text := 'The source has no row.';
  needs_scan text;
  following gateway.record_type;
begin
  select * into last from gateway.step order by stamp desc limit 1;
  select * into progress from gateway.check_progress for update skip locked;
  if not found then
    return;
  end if;
  if progress.record in (select gateway.comparable_types(last)) then
    begin
      select part.keys, part.reached into keys, next from gateway.scan_keys(progress.record, progress.reached, at_most) part;
      differing := array(select difference from gateway.find_differences(progress.record, keys, last) difference);
      if (select count(*) from unnest(differing) where reason = lost) > greatest(20, cardinality(keys) / 10) then
        needs_scan := 'Rows of the source are missing.';
      end if;
      call gateway.require_unchanged_sources();
    exception
      when lock_not_available then -- The next call tries again.
        return;
      when transaction_rollback or insufficient_resources or operator_intervention or system_error then
        raise;
      when others then
        needs_scan := sqlerrm;
    end;
    if needs_scan is not null then
      perform gateway.request_scan(progress.record, needs_scan);
    else
      insert into gateway.note (record, key)
      select record, key from unnest(differing)
      union all
      select record, key from gateway.rejected where record = progress.record and key = any(keys);
    end if;
    return query select record, key from unnest(differing);
  end if;
  following := case when next is null then (select min(record) from gateway.mapping where record > progress.record)
                    else progress.record end;
  update gateway.check_progress
  set reached = next, record = coalesce(following, 'tenant'),
      began = case when following is null then last.stamp when cardinality(differing) = 0 then began end,
      verified_through = case when following is null and cardinality(differing) = 0 then coalesce(began, verified_through)
                              else verified_through end,
      differed = differed + coalesce(cardinality(differing), 0);
end $$;

-- Returns the sources whose changes are not captured, each with a sentence that has the remedy.
create function gateway.find_uncaptured() returns table (source text, trigger text)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off
begin atomic
  select captured.source,
         case when to_regclass(captured.source) is not null then min(expected.name || ' on ' || part::text) end
  from (select distinct source from gateway.rule) captured
  left join pg_class on pg_class.oid = to_regclass(captured.source)
  left join lateral gateway.tables_of(pg_class.oid) part on true
  cross join lateral (values
    ('capture_truncated', 'A'), ('capture_row', case relkind when 'p' then 'A' else 'RA' end), ('capture_inserted', 'OA'),
    ('capture_deleted', 'OA'), ('capture_updated', 'OA')) expected (name, states)
  left join pg_trigger on tgrelid = part and tgname = expected.name and strpos(states, tgenabled::text) > 0
  where tgname is null and (relkind <> 'p' or states <> 'OA')
    -- The platform creates partitions while the service runs: the check of all records finds what was truncated there.
    and not (expected.name = 'capture_truncated' and part <> pg_class.oid)
  group by captured.source;
end;

-- Lets steps evaluate all records that differ, and again those that they have rejected. Returns the former. Steps compare all
-- records of a type with more than a thousand that have no row in the source: a scan stops before it removes too much.
create function gateway.repair_records() returns setof gateway.record_difference
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  differing constant gateway.record_difference[] := array(select difference from gateway.record_differences() difference);
  scanned constant gateway.record_type[] := array(
    select record from unnest(differing) where key is null or reason = 'The source has no row.'
    group by record having count(*) > 1000 or bool_or(key is null));
begin
  perform gateway.request_scan(record, 'Its records are repaired.') from unnest(scanned) record;
  insert into gateway.note (record, key)
  select record, key
  from (select record, key from gateway.rejected union all select record, key from unnest(differing)) key
  where record <> all(scanned);
  return query select * from unnest(differing);
end $$;

-- Corrects the members and the sums of rollups. Steps wait.
create function gateway.repair_figures() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  lock table gateway.step_lock in exclusive mode;
  perform gateway.update_members(array(select member from gateway.tree_members() member));
  perform gateway.add_to_rollups(array(select difference from gateway.figure_differences() difference));
  perform gateway.repeat_step();
end $$;
