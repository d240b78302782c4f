-- Steps: one at a time takes the new notes, evaluates the mapping for their keys, and writes the records that differ. A step is
-- one REPEATABLE READ transaction, so all that it reads is of one instant, and what it writes becomes visible at once.

-- A step begins with `lock table gateway.step_lock in exclusive mode nowait`, which comes before its snapshot.
create table gateway.step_lock ();

-- Rows are added and never changed: the last one is found at the end of the index, past no dead rows.
create table gateway.step (
  stamp       timestamptz primary key, -- Later than those of its records, and earlier than those of later steps.
  snapshot    pg_snapshot not null,    -- The next step takes the notes of the transactions that it does not show.
  waited      bigint not null,         -- The last place of gateway.waiting_key that was worked off.
  epoch       bigint not null,         -- That of gateway.sync_state.
  is_complete boolean not null,        -- False: the first fill goes on, and records are missing.
  behind_since timestamptz             -- All changes that were committed before it are in the records; null: before the stamp.
);
comment on table gateway.step is 'The last steps: server_time is the stamp of the last one';

-- Keys that wait, because a step evaluates a thousand at most: small transactions overtake large ones.
create table gateway.waiting_key (
  place  bigint generated always as identity primary key,
  record gateway.record_type not null,
  key    text not null
);

-- A changed row of a source: what gateway.note has of it.
create type gateway.source_row as (record gateway.record_type, source text, key text);

-- Rows whose rules lead to more keys than a step takes. They wait once, however often they change, and become waiting keys when few
-- of these are left: a row on which many records depend may change more often than all of them can be evaluated.
create table gateway.waiting_row of gateway.source_row;
create unique index waiting_row_once on gateway.waiting_row (record, source, md5(key));

-- Types whose mapping does not fit the tables of the platform any more.
create table gateway.broken_mapping (
  record gateway.record_type primary key,
  reason text not null,
  since  timestamptz not null default clock_timestamp()
);

grant select on gateway.broken_mapping to voucher_gateway;
grant update on gateway.step_lock to voucher_gateway;

-- Returns the path of a tenant: its id, then those of the tenants above it; null when there is no such record.
create function gateway.record_path(lowest bigint) returns bigint[]
language sql stable
begin atomic
  with recursive above (parent_id, path) as (
    select parent_id, array[id] from gateway.tenant where id = lowest
    union all
    select tenant.parent_id, path || id from above join gateway.tenant on id = above.parent_id where id <> all(path)
  )
  select path from above order by cardinality(path) desc limit 1;
end;

-- Brings the paths of changed tenants, and of all below them, up to date. A tenant leaves the lists of those that are no longer
-- above it; one that stays gets a stamp, so that those that are above it now list it.
--
-- moved: whether a path has changed.
create function gateway.write_tenant_paths(changed bigint[], inout latest timestamptz, out moved boolean)
language plpgsql
as $$
declare
  stamps bigint;
begin
  with recursive affected (id) as (
    select unnest(changed)
    union
    select tenant.id from affected join gateway.tenant on tenant.parent_id = affected.id
  ), differing as materialized (
    select * from (select id, gateway.record_path(id) as fresh, path as stale
                   from affected left join gateway.tenant_path on tenant_id = id) paths
    where fresh is distinct from stale
  ), deleted as (
    delete from gateway.tenant_path using differing where tenant_id = id and fresh is null
  ), revoked as (
    delete from gateway.token_tenant using differing where tenant_id = id and fresh is null
  ), written as (
    insert into gateway.tenant_path select id, fresh from differing where fresh is not null
    on conflict (tenant_id) do update set path = excluded.path
  ), stamped as (
    update gateway.tenant set updated_at = latest + place * interval '1 microsecond'
    from (select id, row_number() over (order by id) as place from differing
          where fresh is not null and stale is not null and id <> all(changed)) moved_along
    where tenant.id = moved_along.id
    returning 1
  ), departed as (
    insert into gateway.removal
    select 'tenant', former, id, case when fresh is null then 'deleted' else 'moved' end::gateway.removal_reason,
           latest + ((select count(*) from stamped) + row_number() over (order by id, former)) * interval '1 microsecond'
    from differing, unnest(case when cardinality(stale) > 1 then stale[2:] else stale end) former
    where former <> all(coalesce(fresh, '{}'))
    returning 1
  )
  select (select count(*) from stamped) + (select count(*) from departed), exists (select from differing) into stamps, moved;
  latest := latest + stamps * interval '1 microsecond';
end $$;

-- Returns the message of an error without the values of rows that it quotes.
create function gateway.without_values(message text) returns text
language sql immutable
return regexp_replace(split_part(message, ': ', 1), '["«»„“”].*["«»„“”]', '"…"');

-- A key of a source.
create type gateway.record_key as (record gateway.record_type, key text);

-- Returns the notes that a step with this snapshot has not taken, and that this transaction can see.
create function gateway.notes_after(taken pg_snapshot) returns setof gateway.note
language sql stable
begin atomic
  select * from gateway.note where xid >= pg_snapshot_xmax(taken)
  union all
  select * from gateway.note where xid = any(array(select pg_snapshot_xip(taken)));
end;

-- Evaluates keys as gateway.write_<type> does. When that fails, it rejects the keys that make it fail. When the mapping does not
-- fit the tables, it records that; when a table is locked, the keys wait.
create function gateway.write_keys(type gateway.record_type, keys text[], latest timestamptz, counts boolean)
returns gateway.written
language plpgsql
as $$
declare
  written gateway.written := (latest, null, null, null)::gateway.written;
  half constant integer := cardinality(keys) / 2;
  second gateway.written;
begin
  execute format('select * from gateway.write_%s($1, $2, $3)', type) into written using keys, latest, counts;
  return written;
exception
  when syntax_error_or_access_rule_violation then
    insert into gateway.broken_mapping (record, reason) values (type, sqlerrm) on conflict do nothing;
    return written;
  when lock_not_available then
    insert into gateway.waiting_key (record, key) select type, unnest(keys);
    return written;
  when transaction_rollback or insufficient_resources or operator_intervention or system_error then
    raise; -- No key causes these: the next step evaluates all of them again.
  when others then
    if half = 0 then
      insert into gateway.rejected (record, key, reason) values (type, keys[1], sqlerrm)
      on conflict (record, key) do update set reason = excluded.reason, waits_for = null, waits_id = null;
      return written;
    end if;
    written := gateway.write_keys(type, keys[:half], latest, counts);
    second := gateway.write_keys(type, keys[half + 1:], written.latest, counts);
    return (second.latest, written.changed || second.changed, written.parents || second.parents,
            coalesce(written.crosses, false) or coalesce(second.crosses, false))::gateway.written;
end $$;

-- Returns the next keys of a type, as gateway.scan_<type> does.
create function gateway.scan_keys(
  type gateway.record_type, after text, at_most integer, out keys text[], out reached text, out lost bigint)
language plpgsql stable
as $$
begin
  execute format('select * from gateway.scan_%s($1::%s, $2)', type, (select key_type from gateway.mapping where record = type))
  into keys, reached, lost using after, at_most;
end $$;

-- Evaluates the types again whose mapping has fitted again since a step found that it did not.
create procedure gateway.retry_broken_mappings()
language plpgsql
as $$
declare
  broken gateway.record_type;
begin
  for broken in select record from gateway.broken_mapping loop
    begin
      execute format('select from gateway.source_of_%s(''{}'', false)', broken);
    exception
      when syntax_error_or_access_rule_violation then
        update gateway.broken_mapping set reason = sqlerrm where record = broken and reason <> sqlerrm;
        continue;
      when lock_not_available then -- The next step tries again.
        continue;
      when transaction_rollback or insufficient_resources or operator_intervention or system_error then
        raise;
      when others then -- A row makes the select fail: the scan names it.
    end;
    delete from gateway.broken_mapping where record = broken;
    perform gateway.request_scan(broken, 'The mapping fits the tables again.');
  end loop;
end $$;

-- The scans that steps go on with. A source that could not be read may have been corrected.
create view gateway.open_scan as
select * from gateway.scan
where (stopped is null or failed_at not between clock_timestamp() - interval '10 seconds' and clock_timestamp())
  and record not in (select record from gateway.broken_mapping);

-- Returns the next keys of the first scan, and moves it behind them. Stops it instead when it would have removed more than a tenth
-- of the records, and more than a thousand, unless a source was truncated or an operator allows it: the mapping may be wrong, or
-- the source. Keys that were noted one by one do not count.
create function gateway.take_scanned(at_most integer, out type gateway.record_type, out keys text[])
language plpgsql
as $$
declare
  open gateway.scan;
  part record;
  records bigint;
begin
  select * into open from gateway.open_scan order by record limit 1;
  if open.record is null or at_most < 1 then
    return;
  end if;
  begin
    part := gateway.scan_keys(open.record, open.reached, at_most);
  exception
    when syntax_error_or_access_rule_violation then
      insert into gateway.broken_mapping (record, reason) values (open.record, sqlerrm);
      return;
    when lock_not_available then -- The next step tries again.
      return;
    when transaction_rollback or insufficient_resources or operator_intervention or system_error then
      raise;
    when others then -- A row makes the select fail, whichever keys are asked for: other types go on.
      update gateway.scan set stopped = gateway.without_values(sqlerrm), failed_at = clock_timestamp() where record = open.record;
      return;
  end;
  if not open.allows_removals and open.removed + part.lost > 1000 then
    execute format('select count(*) + $1 from gateway.%I', open.record) into records using open.removed;
    if open.removed + part.lost > records / 10 then
      update gateway.scan set stopped = format(
        '%s of %s records have no row in the source. Correct the mapping, or: call gateway.allow_removals(%L);',
        open.removed + part.lost, records, open.record), failed_at = null where record = open.record;
      return;
    end if;
  end if;
  delete from gateway.scan where record = open.record and part.reached is null;
  update gateway.scan set reached = part.reached, removed = removed + part.lost, stopped = null, failed_at = null
  where record = open.record;
  type := open.record;
  keys := part.keys;
end $$;

-- Lets a scan go on that gateway.take_scanned has stopped.
create procedure gateway.allow_removals(stopped_record gateway.record_type)
language sql
begin atomic
  update gateway.scan set allows_removals = true, stopped = null, failed_at = null where record = stopped_record;
end;

-- Returns the keys to which rules lead from rows. When a rule does not fit the tables, or fails for a row, the type is evaluated as a
-- whole later; when a table is locked, the rows wait for the next step.
--
-- checks: whether it leaves out such a rule instead, and writes nothing.
create function gateway.affected_keys(changed gateway.source_row[], checks boolean default false) returns setof gateway.record_key
language plpgsql
as $$
declare
  noted record;
begin
  for noted in
    select record, source, affects, array_agg(distinct key) as keys
    from unnest(changed) join gateway.rule using (record, source) where affects is not null
    group by record, source, affects
  loop
    begin
      return query execute format('select %L::gateway.record_type, key from %s($1) key', noted.record, noted.affects) using noted.keys;
    exception
      when transaction_rollback or insufficient_resources or operator_intervention or system_error then
        raise;
      when others then
        if checks then
          continue;
        elsif sqlstate like '42%' then
          insert into gateway.broken_mapping (record, reason) values (noted.record, sqlerrm) on conflict do nothing;
        elsif sqlstate = '55P03' then
          insert into gateway.note (record, source, key) select noted.record, noted.source, unnest(noted.keys);
        else
          perform gateway.request_scan(noted.record, sqlerrm);
        end if;
    end;
  end loop;
end $$;

-- Returns for a check the keys to which rules lead from all rows that steps have not taken.
create function gateway.affected_keys(taken pg_snapshot) returns setof gateway.record_key
language sql
begin atomic
  select affected from gateway.affected_keys(array(
    select (record, source, key)::gateway.source_row from gateway.notes_after(taken) where source is not null and key is not null
    union all
    select (record, source, key)::gateway.source_row from gateway.waiting_row), true) affected;
end;

-- Returns the keys to which rules lead from new notes, at most `at_most` of each rule. Rows that lead to more, and those of large
-- transactions, become waiting rows.
create function gateway.take_affected(snapshot pg_snapshot, at_most integer) returns setof gateway.record_key
language plpgsql
as $$
declare
  large constant xid8[] := array(
    select xid from gateway.notes_after(snapshot) where source is not null group by xid having count(*) > 100);
  changed gateway.source_row[];
  affected gateway.record_key[];
begin
  for changed in
    select array_agg(distinct (record, source, key)::gateway.source_row) from gateway.notes_after(snapshot)
    where source is not null and key is not null and xid <> all(large) group by record, source
  loop
    affected := case when cardinality(changed) <= at_most then array(select affected_keys from gateway.affected_keys(changed)) end;
    if cardinality(affected) <= at_most then
      return query select * from unnest(affected);
    else
      insert into gateway.waiting_row select * from unnest(changed) on conflict do nothing;
    end if;
  end loop;
  insert into gateway.waiting_row
  select record, source, key from gateway.note where xid = any(large) and source is not null and key is not null on conflict do nothing;
end $$;

-- Lets the keys of some waiting rows wait instead, unless `at_most` keys wait already.
create function gateway.expand_waiting_rows(at_most integer, waited bigint) returns void
language plpgsql
as $$
declare
  changed gateway.source_row[];
begin
  while not exists (select from gateway.waiting_key where place > waited offset at_most) loop
    with taken as (
      delete from gateway.waiting_row where ctid = any(array(select ctid from gateway.waiting_row limit 50)) returning waiting_row
    )
    select array_agg((record, source, key)::gateway.source_row) into changed from taken, lateral (select (waiting_row).*) row;
    exit when changed is null;
    insert into gateway.waiting_key (record, key) select record, key from gateway.affected_keys(changed);
  end loop;
end $$;

-- Takes the new notes and the first waiting keys, at most `at_most`. Of more new notes, those of small transactions are taken, also
-- before keys that wait; the others become waiting keys. A note of a whole table becomes a scan.
--
-- waited: the last place of gateway.waiting_key that was worked off.
create function gateway.take_noted(snapshot pg_snapshot, at_most integer, inout waited bigint, out keys gateway.record_key[])
language plpgsql
as $$
declare
  at_most_new constant integer := ceil(at_most * 0.75); -- Keys that wait are worked off too.
  types constant gateway.record_type[] := enum_range(null::gateway.record_type);
  large constant xid8[] := array(
    select xid from gateway.notes_after(snapshot) where key is not null and source is null group by xid having count(*) > at_most_new);
  affected constant gateway.record_key[] := array(select take_affected from gateway.take_affected(snapshot, at_most_new));
begin
  perform gateway.request_scan(record, min(reason), coalesce(bool_or(truncated), false))
  from gateway.notes_after(snapshot) where key is null group by record;
  with noted as materialized (
    select record, key, row_number() over (order by min(size), min(xid::text::numeric)) as place
    from (
      select record, key, count(*) over (partition by xid) as size, xid from gateway.notes_after(snapshot)
      where key is not null and source is null and xid <> all(large)
      union all
      select record, key, count(*) over (partition by record), null from unnest(affected)
    ) note
    group by record, key
  ), waiting as (
    insert into gateway.waiting_key (record, key) select record, key from noted where place > at_most_new order by place
  )
  select coalesce(array_agg((record, key)::gateway.record_key), '{}') into keys from noted where place <= at_most_new;
  -- With keys that were noted twice: to look for these would let others wait. Records come after those that they refer to, and
  -- neighbours together: they share pages, and sums of figures. By one text, which sorts several times faster than columns: of two ids,
  -- the shorter one is lower.
  insert into gateway.waiting_key (record, key)
  select record, key from gateway.note join gateway.mapping using (record)
  where xid = any(large) and key is not null and source is null
  order by concat(array_position(types, record), case key_type when 'bigint' then (10 + length(key)) || key end) collate "C";
  perform gateway.expand_waiting_rows(at_most, waited);
  select keys || coalesce(array_agg((record, key)::gateway.record_key), '{}'), coalesce(max(place), waited) into keys, waited
  from (select * from gateway.waiting_key where place > waited order by place limit at_most - cardinality(keys)) waiting;
end $$;

-- Evaluates keys of all types, and what depends on them. Returns the last stamp.
--
-- counts: whether figures follow.
create function gateway.write_records(keys gateway.record_key[], latest timestamptz, at_most integer, counts boolean)
returns timestamptz
language plpgsql
as $$
declare
  type gateway.record_type;
  type_keys text[];
  products bigint[] := '{}';
  written gateway.written;
  moved boolean := false;
  crosses boolean := false;
begin
  foreach type in array enum_range(null::gateway.record_type) loop
    type_keys := array(select key from unnest(keys) where record = type
                       union select unnest(gateway.keys_of('product', products)) where type = 'product');
    continue when cardinality(type_keys) = 0 or not exists (select from gateway.mapping where record = type);
    -- Together, because two vouchers may have exchanged their references.
    if exists (select from gateway.rejected where record = type and waits_for = type) then
      type_keys := array(
        with recursive evaluated (key) as (
          select unnest(type_keys)
          union
          select rejected.key from evaluated join gateway.rejected
            on record = type and waits_for = type and waits_id = (gateway.ids_of(type, array[evaluated.key], false))[1]
        )
        select key from evaluated);
    end if;
    written := gateway.write_keys(type, type_keys, latest, counts);
    latest := written.latest;
    crosses := crosses or coalesce(written.crosses, false);
    if type = 'tenant' then
      select * into latest, moved from gateway.write_tenant_paths(written.changed, latest);
    elsif type = 'category' then
      products := array(select id from gateway.product where category_ids && written.changed);
    elsif type = 'variant' and counts then -- The first fill evaluates all products later.
      products := products || written.parents;
    end if;
    if cardinality(products) > at_most then
      insert into gateway.waiting_key (record, key)
      select distinct 'product'::gateway.record_type, unnest(gateway.keys_of('product', products));
      products := '{}';
    end if;
    insert into gateway.waiting_key (record, key)
    select record, key from gateway.rejected where waits_for = type and waits_id = any(written.changed) and record <> type;
  end loop;
  if counts and (moved or crosses) then
    perform gateway.update_members(
      case when moved then array(select member from gateway.tree_members() member) end);
  end if;
  return latest;
end $$;

-- Goes on with the first fill: writes all records, then creates one index at a time, then writes the figures and collects the
-- statistics that plans need.
--
-- latest: the last stamp that was given.
-- Returns whether all of it is done.
create function gateway.fill(at_most integer, inout latest timestamptz, out is_done boolean)
language plpgsql set maintenance_work_mem = '256MB'
as $$
declare
  has_figures constant boolean := to_regclass('gateway.figure_rollup_key') is not null;
  part constant integer := at_most * 5; -- No change waits for a step of the fill.
  scanned record := gateway.take_scanned(part);
  command text;
begin
  is_done := false;
  if scanned.type is not null then
    latest := gateway.write_records(
      array(select (scanned.type, key)::gateway.record_key from unnest(scanned.keys) key), latest, part, has_figures);
    return;
  end if;
  if exists (select from gateway.scan) or exists (select from gateway.broken_mapping) then
    return;
  end if;
  select definition into command from gateway.record_indexes() where to_regclass('gateway.' || name) is null limit 1;
  if command is not null then
    execute command;
  elsif not has_figures then
    perform gateway.write_first_figures();
    -- The planner takes an empty table for a larger one, but not after it was analysed. One that a vacuum has locked is left to it.
    for command in
      select format('analyze (skip_locked) gateway.%I', name)
      from unnest(enum_range(null::gateway.record_type)::text[] || '{tenant_path,voucher_text,figure_member,figure_rollup}') name
      where pg_relation_size('gateway.' || name) > 0
    loop
      execute command;
    end loop;
  else
    is_done := true;
  end if;
end $$;

-- Fails when a source was truncated or rewritten after the snapshot, which sees such a table as empty: its row of pg_class has the
-- file that it had then.
create procedure gateway.require_unchanged_sources()
language plpgsql
as $$
begin
  if exists (
    select from gateway.rule
    cross join lateral gateway.tables_of(to_regclass(source)) part
    where (select relfilenode from pg_class where oid = part) <> pg_relation_filenode(part))
  then
    raise exception 'a source was rewritten during the step' using errcode = 'lock_not_available';
  end if;
end $$;

-- Makes one step. In the transaction, only `lock table gateway.step_lock` came before it.
--
-- at_most: how many keys it takes, of notes, waiting keys and a scan together.
-- more: whether there is more to do at once; null: there was no key to evaluate.
-- keys: how many it took; null in the first fill.
create function gateway.make_step(at_most integer, out more boolean, out keys integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp set row_security = off
  set jit = off set work_mem = '64MB' set enable_seqscan = off set lock_timeout = '100ms'
as $$
declare
  present_epoch constant bigint := (select epoch from gateway.sync_state);
  former gateway.step;
  latest timestamptz;
  filled record;
  taken record;
  scanned record;
  since timestamptz;
  waits boolean;
begin
  if current_setting('transaction_isolation') <> 'repeatable read' then
    raise exception 'a step needs one snapshot: REPEATABLE READ' using errcode = 'active_sql_transaction';
  end if;
  select * into former from gateway.step order by stamp desc limit 1;
  if former.stamp is null then
    -- The first fill reads all rows. In a restored database, these notes may be of transactions of another server.
    delete from gateway.note;
    former := ('-infinity', pg_current_snapshot(), 0, present_epoch, false, null)::gateway.step;
  elsif former.epoch <> present_epoch then
    -- The notes may be of another server, whose transactions had other ids.
    delete from gateway.note;
    perform gateway.request_scan(record, 'The server was replaced.') from gateway.mapping;
    former.snapshot := pg_current_snapshot();
  end if;
  call gateway.retry_broken_mappings();
  since := coalesce(former.behind_since, nullif(former.stamp, '-infinity'));
  latest := greatest(clock_timestamp(), former.stamp);
  if former.is_complete and former.epoch = present_epoch
    and not exists (select from gateway.notes_after(former.snapshot)) and not exists (select from gateway.open_scan)
    and not exists (select from gateway.waiting_key where place > former.waited) and not exists (select from gateway.waiting_row)
  then
    if latest > former.stamp + interval '0.5 seconds' then
      insert into gateway.step values (latest, pg_current_snapshot(), former.waited, present_epoch, true, former.behind_since);
    end if;
    return;
  end if;

  if not former.is_complete then
    select * into filled from gateway.fill(at_most, latest);
    latest := filled.latest;
    if not filled.is_done then
      call gateway.require_unchanged_sources();
      insert into gateway.step
      values (latest + interval '1 microsecond', former.snapshot, former.waited, present_epoch, false, since);
      more := exists (select from gateway.open_scan)
        or not exists (select from gateway.scan) and not exists (select from gateway.broken_mapping);
      return;
    end if;
  end if;
  -- After the fill, these are the notes since its first step.
  -- Changes without end leave a scan its part.
  taken := gateway.take_noted(former.snapshot, case when exists (select from gateway.open_scan) then at_most * 3 / 4 else at_most end,
                              former.waited);
  scanned := gateway.take_scanned(at_most - cardinality(taken.keys));
  latest := gateway.write_records(
    taken.keys || array(select (scanned.type, key)::gateway.record_key from unnest(scanned.keys) key), latest, at_most, true)
    + interval '1 microsecond';
  call gateway.require_unchanged_sources();
  waits := exists (select from gateway.open_scan) or exists (select from gateway.waiting_key where place > taken.waited)
           or exists (select from gateway.waiting_row);
  insert into gateway.step
  -- Keys that wait are no records that are missing: they follow, as those of any change.
  values (latest, pg_current_snapshot(), taken.waited, present_epoch,
          former.is_complete or not exists (select from gateway.scan) and not exists (select from gateway.broken_mapping),
          -- It has noted rows again whose rule reads a locked table.
          case when waits or exists (select from gateway.scan) or exists (select from gateway.broken_mapping)
                 or exists (select from gateway.notes_after(pg_current_snapshot())) then since end);
  keys := cardinality(taken.keys) + coalesce(cardinality(scanned.keys), 0);
  more := nullif(waits, case when cardinality(taken.keys) = 0 and scanned.keys is null then false end);
end $$;

-- Adds a step that writes no records, so that answers after it have a later stamp. Its caller has locked gateway.step_lock.
create function gateway.repeat_step() returns timestamptz
language sql
begin atomic
  insert into gateway.step
  select greatest(stamp + interval '1 microsecond', clock_timestamp()), snapshot, waited, epoch, is_complete, behind_since
  from gateway.step order by stamp desc limit 1
  returning stamp;
end;

-- Deletes what no step needs any more.
create function gateway.delete_passed_notes() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  last gateway.step;
begin
  select * into last from gateway.step order by stamp desc limit 1;
  delete from gateway.note where xid < pg_snapshot_xmin(last.snapshot);
  delete from gateway.waiting_key where place <= last.waited;
  delete from gateway.step where stamp < last.stamp - interval '1 minute';
end $$;

grant select on gateway.note, gateway.step, gateway.waiting_key, gateway.waiting_row, gateway.scan, gateway.open_scan
  to voucher_gateway;
