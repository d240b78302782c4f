-- Stamps: triggers set updated_at of every row that is inserted or changed (R22), and ignore the writer's value.
--
-- A transaction takes its stamp with its first change, after its writing marker (0003). A deferred trigger, the commit
-- event, runs once for a transaction, at its commit or at `set constraints all immediate`, and makes the stamps final. A
-- transaction that writes for long plans stamps ahead of the clock, so that few rows are written twice (docs/operating.md).
--
-- The state of a transaction is in settings of its own, which a rollback to a savepoint undoes together with the markers:
--   gateway.stamp          the stamp of the next row, in microseconds, as are all instants here
--   gateway.former_stamps  the earlier ones, with a space before each
--   gateway.marked_at      the time of the writing marker
--   gateway.look_at        when a row looks at the clock again
--   gateway.first_look     what the first look found: its time, and the rows that were written
--   gateway.touched_lists  the lists of the stamped rows, as ' 16412:12  16400:* ': the table and the tenant; '' before the
--                          first stamp, and ' ' for none
--   gateway.commit_event   wanted: a stamp was taken, and the next row that is written to a list queues the event
--                          queued: the event will run
--                          done: the stamp is final, and all rows that are written from now on get the same one
--   gateway.kept_stamp     recorded: the transaction keeps stamps, and has requested a fill (0017)
-- A row that takes no stamp (an update that changes nothing, a row with a kept stamp) does not find `wanted` and queues no
-- event. Otherwise the event could run before the stamp is taken, and later rows would have no committing marker.

-- Returns whether the transaction keeps the stamps that it gives: a loader has set gateway.keep_updated_at.
create function gateway.keeps_updated_at() returns boolean
language sql stable parallel safe
return coalesce(current_setting('gateway.keep_updated_at', true), '') = 'on';

-- The lists that tenants have of tables in schema public. gateway.add_list (0012) adds one.
create table gateway.list (
  name      text primary key,
  resource  text not null unique, -- What gateway.removal calls its records.
  condition text,                 -- A boolean column: only rows in which it is true are in the list; null: all rows are.
  stamp     text not null         -- The expression that the list is ordered by before id.
);
grant select on gateway.list to public;

-- Gives the rows that follow a stamp that lies ahead of the clock, if this transaction has been writing for 50 ms since its
-- first look.
--
-- The watermark waits for no marker of such a stamp: no page lists its rows before the clock reaches it, and the commit
-- event gives those that it has reached a new one. Pauses do not count: a row takes at most 100 µs.
create function gateway.plan_stamp() returns void
language plpgsql
as $$
declare
  present constant bigint := gateway.clock_microseconds();
  -- Postgres also counts rows of earlier transactions, so only the difference counts.
  rows constant bigint := (
    select sum(pg_stat_get_xact_tuples_inserted(source) + pg_stat_get_xact_tuples_updated(source))
    from (select format('public.%I', name)::regclass as source from gateway.list
          union all values ('gateway.removal'::regclass), ('public.tenant'::regclass)) sources);
  first constant bigint[] := coalesce(nullif(current_setting('gateway.first_look', true), '')::bigint[], array[present, rows]);
  writing constant bigint := least(present - first[1], 100 * (rows - first[2]));
begin
  if writing >= 50000 then
    perform set_config('gateway.former_stamps', concat(current_setting('gateway.former_stamps', true), ' ',
                                                       current_setting('gateway.stamp')), true),
            set_config('gateway.stamp', (present + writing * 4)::text, true);
  end if;
  -- A stamp serves the rows of an eighth of this time, so that few rows have a stamp that is too early.
  perform set_config('gateway.look_at', (present + greatest(writing / 8, 5000))::text, true),
          set_config('gateway.first_look', first::text, true);
end $$;

-- Returns the stamp of this transaction for the next row of a list, and records the list, so that the commit event finds the
-- row. The first call takes the stamp: the writing marker first, then the clock. After some hundred tenants it records the
-- lists of all tenants.
--
-- In this function and those that single rows call, each expression costs a transaction some 0.5 µs, because plpgsql
-- prepares it once for a transaction; `perform` costs more, because it runs a statement.
--
-- source: the table. tenant: the id of the tenant whose list it is; '*' for all tenants.
create function gateway.list_stamp(source oid, tenant text) returns timestamptz
language plpgsql
as $$
declare
  touched constant text := coalesce(current_setting('gateway.touched_lists', true), '');
  list constant text := concat(' ', source, ':', tenant, ' ');
  marked_at bigint;
  done text;
begin
  if touched = '' then
    marked_at := gateway.checked_clock();
    done := pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.writing_marker(), marked_at));
    done := set_config('gateway.stamp', greatest(marked_at, gateway.clock_microseconds())::text, true)
      || set_config('gateway.marked_at', marked_at::text, true)
      || set_config('gateway.look_at', (marked_at + 5000)::text, true)
      || set_config('gateway.commit_event', 'wanted', true)
      || set_config('gateway.touched_lists', list, true);
  elsif current_setting('gateway.commit_event') <> 'done' then
    if gateway.clock_microseconds() > current_setting('gateway.look_at')::bigint then
      perform gateway.plan_stamp();
    end if;
    if strpos(touched, list) = 0 and strpos(touched, concat(' ', source, ':* ')) = 0 then
      done := set_config('gateway.touched_lists',
                         touched || case when length(touched) > 4000 then concat(' ', source, ':* ') else list end, true);
    end if;
  end if;
  return gateway.from_microseconds(current_setting('gateway.stamp')::bigint);
end $$;

-- Accepts a stamp that a loader gives. Raises an error when it lies in the future: a page would not list the row before that
-- time. A row may have a planned stamp of this transaction already: then the commit event has to find the row.
create function gateway.keep_stamp(source oid, tenant text, updated_at timestamptz) returns void
language plpgsql
as $$
begin
  if strpos(concat(current_setting('gateway.former_stamps', true), ' ', current_setting('gateway.stamp', true), ' '),
            ' ' || (extract(epoch from updated_at) * 1000000)::bigint || ' ') > 0 then
    perform gateway.list_stamp(source, tenant);
  elsif updated_at > clock_timestamp() then
    raise exception 'updated_at cannot lie in the future: %', updated_at using errcode = 'check_violation';
  end if;
  if current_setting('gateway.kept_stamp', true) is distinct from 'recorded' then
    perform gateway.request_fill(), set_config('gateway.kept_stamp', 'recorded', true);
  end if;
end $$;

-- Stamps a row of a list that each tenant has, unless nothing changes: as a condition of the trigger this comparison takes
-- twice the time. Each row of a bulk load calls it: the second condition is that the row needs no look at the clock and
-- no record of its list. A row with a final stamp never needs them.
create function gateway.stamp_row() returns trigger
language plpgsql
as $$
begin
  if old *= new then
    return new;
  elsif current_setting('gateway.keep_updated_at', true) is distinct from 'on'
    and (current_setting('gateway.commit_event', true) = 'done'
         or strpos(current_setting('gateway.touched_lists', true), concat(' ', tg_relid, ':', new.tenant_id, ' ')) > 0
            and gateway.clock_microseconds() < nullif(current_setting('gateway.look_at', true), '')::bigint)
  then
    new.updated_at := gateway.from_microseconds(current_setting('gateway.stamp')::bigint);
  elsif gateway.keeps_updated_at() then
    perform gateway.keep_stamp(tg_relid, new.tenant_id::text, new.updated_at);
  else
    new.updated_at := gateway.list_stamp(tg_relid, new.tenant_id::text);
  end if;
  return new;
end $$;

-- Stamps a tenant: the tenants are one list.
create function gateway.stamp_tenant() returns trigger
language plpgsql
as $$
begin
  if old *= new then
    return new;
  elsif gateway.keeps_updated_at() then
    perform gateway.keep_stamp(tg_relid, '*', new.updated_at);
  else
    new.updated_at := gateway.list_stamp(tg_relid, '*');
  end if;
  return new;
end $$;

-- The stamps that lay ahead of the clock at their commit: they do not show that the clock stepped back.
create table gateway.planned_stamp (stamp timestamptz not null);
grant select, delete on gateway.planned_stamp to voucher_gateway;

-- Returns the stamps that rows of this transaction have, ascending.
create function gateway.own_stamps() returns bigint[]
language sql volatile
return array_remove(string_to_array(
  concat(current_setting('gateway.former_stamps', true), ' ', current_setting('gateway.stamp', true)), ' '), '')::bigint[];

-- Returns where the rows are that this transaction has stamped: their table, the tenants, and the condition for them with the
-- tenants as $1, which ends at the stamp. gateway.removal is no list: its rows are the removals of tenants (0007). The rows
-- that the condition of a list excludes have a partial index of their own, and are stamped for the follower (0017).
create function gateway.touched_rows() returns table (source regclass, owners bigint[], condition text)
language sql volatile
as $$
  select touched.source::regclass,
         case when touched.source = 'public.tenant'::regclass then '{}'
              when bool_or(touched.tenant = '*') then array(select id from public.tenant)
              else array_agg(nullif(touched.tenant, '*')::bigint) end,
         case when touched.source = 'public.tenant'::regclass then 'updated_at'
              when list.name is null then 'tenant_id = any($1) and resource = ''tenant'' and updated_at'
              -- An applier can write records before their tenants.
              when bool_or(touched.tenant = '*') and current_setting('session_replication_role') = 'replica'
                then format('$1 is not null%s and updated_at', part.condition)
              else format('tenant_id = any($1)%s and %s', part.condition, list.stamp) end
  from (select split_part(entry, ':', 1)::oid as source, split_part(entry, ':', 2) as tenant
        from regexp_split_to_table(current_setting('gateway.touched_lists'), ' +') as entry where entry <> '') touched
  left join gateway.list on to_regclass(format('public.%I', list.name)) = touched.source
  left join lateral (values (' and ' || list.condition), (' and not ' || list.condition)) part (condition)
    on list.condition is not null
  group by touched.source, list.name, part.condition
$$;

-- Sets the stamp of all rows that are written from now on, and replaces the former stamps of this transaction by it.
-- The update waits for no lock, because the transaction has written these rows before. The planner has no statistics of new
-- stamps, and would prefer to read the whole table.
create function gateway.restamp(formers bigint[], stamp bigint) returns void
language plpgsql set enable_seqscan = off
as $$
declare
  -- The function has no `set` clause: only a superuser may create a function with a setting that no extension defines.
  kept constant text := coalesce(current_setting('gateway.keep_updated_at', true), '');
  target record;
begin
  -- The settings change first: the updates below set off the stamping triggers like all others.
  perform set_config('gateway.stamp', stamp::text, true), set_config('gateway.commit_event', 'done', true),
          set_config('gateway.keep_updated_at', 'off', true);
  for target in select * from gateway.touched_rows() where formers <> '{}' loop
    execute format('update %s set updated_at = $3 where %s = any($2)', target.source, target.condition)
    using target.owners, array(select gateway.from_microseconds(former) from unnest(formers) as former),
          gateway.from_microseconds(stamp);
  end loop;
  perform set_config('gateway.keep_updated_at', kept, true);
end $$;

-- Returns the present stamp of this transaction; null when it has none.
create function gateway.transaction_stamp() returns timestamptz
language sql volatile
return gateway.from_microseconds(nullif(current_setting('gateway.stamp', true), '')::bigint);

-- Makes the stamp of this transaction final, and takes a committing marker for it. The watermark then stays
-- at the stamp until the transaction ends, for all lists.
--
-- Runs as the owner: a writer may lack the right to update its rows.
--
-- ahead: by how many microseconds the stamp lies ahead of the clock. The watermark passes during that time.
create function gateway.settle_stamps(ahead bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  stamp bigint := gateway.checked_clock() + ahead;
  done text;
begin
  done := pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), stamp));
  stamp := greatest(stamp, gateway.clock_microseconds());
  if coalesce(current_setting('gateway.touched_lists', true), '') = '' then
    done := set_config('gateway.stamp', stamp::text, true) || set_config('gateway.commit_event', 'done', true)
      || set_config('gateway.touched_lists', ' ', true);
  else
    perform gateway.restamp(gateway.own_stamps(), stamp);
  end if;
  if ahead > 0 then
    insert into gateway.planned_stamp (stamp) values (gateway.from_microseconds(stamp));
  end if;
end $$;

-- Makes the stamps of a transaction final when its writing marker has expired: rows whose stamp has passed get a new one.
--
-- The watermark may wait for 10 ms. When stamping is expected to take longer, the new stamp lies ahead by this time, and needs
-- no marker before the clock reaches it. So the rows are stamped first; those whose stamp has passed by then are stamped
-- again for a later time. The plan is 2.5 times as long as the transaction has taken, and at most 100 µs a row and 50 µs a
-- removal that follows, because it may have been idle.
create function gateway.settle_late_stamps() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  stamps bigint[] := gateway.own_stamps();
  present bigint := gateway.clock_microseconds();
  passed bigint[] := array(select each from unnest(stamps) as each where each <= present);
  -- The expected duration, at first of removals.
  ahead bigint := 50 * (
    select sum(pg_stat_get_xact_tuples_deleted(format('public.%I', name)::regclass)) from gateway.list);
  margin bigint;
  stamp bigint;
  target record;
  rows bigint;
begin
  for target in select * from gateway.touched_rows() loop
    execute format('select count(*) from %s where %s = any($2)', target.source, target.condition)
    into rows using target.owners, array(select gateway.from_microseconds(each) from unnest(passed) as each);
    ahead := ahead + 100 * rows;
  end loop;
  ahead := least((present - stamps[1]) * 2.5, ahead);
  -- The expected duration of stamping: stamps that pass meanwhile count as passed.
  margin := ahead / 10;
  if ahead <= 10000 and passed = stamps then
    perform gateway.settle_stamps(0);
    return;
  end if;
  ahead := greatest(ahead, 10000);
  loop
    present := gateway.checked_clock();
    passed := array(select each from unnest(stamps) as each where each <= present + margin);
    stamp := greatest(present + margin + ahead, stamps[cardinality(stamps)]);
    perform gateway.restamp(passed, stamp);
    stamps := array(select distinct each from unnest(stamps || stamp) as each where each <> all(passed) order by each);
    -- One marker is enough: it keeps pages from the rows of its stamp and of all later ones.
    if gateway.clock_microseconds() < stamps[1] then
      perform pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), stamps[1]));
      -- The clock is read twice, because a transaction can be suspended before the marker.
      exit when gateway.clock_microseconds() < stamps[1];
    end if;
    ahead := greatest(ahead, 2 * (gateway.clock_microseconds() - present));
    margin := margin / 2;
  end loop;
  insert into gateway.planned_stamp (stamp) select gateway.from_microseconds(each) from unnest(stamps) as each;
end $$;

-- Makes the stamps of a transaction with writes final. While the writing marker counts, they stay as they are, under
-- a committing marker of the same time. The second look at the clock is for a transaction that was suspended between the
-- first look and the marker. A clock that lies behind the recorded one has stepped back: gateway.settle_stamps finds that.
--
-- Most transactions get no further, so this function has the rights and the search_path of the writer. Both functions
-- have the same search_path: otherwise Postgres would plan the expressions of the functions that they call again in
-- each transaction.
create function gateway.finalize() returns void
language plpgsql
as $$
declare
  marked_at constant bigint := current_setting('gateway.marked_at');
  expires_at constant bigint := marked_at + (extract(epoch from gateway.writing_marker_lifetime()) * 1000000)::bigint;
  done text;
begin
  if gateway.clock_microseconds() < expires_at then
    done := pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), marked_at));
    if gateway.clock_microseconds() between pg_sequence_last_value('gateway.recorded_clock') and expires_at - 1 then
      done := set_config('gateway.commit_event', 'done', true);
      return;
    end if;
  end if;
  perform gateway.settle_late_stamps();
end $$;

-- The commit event.
create function gateway.finalize_stamps() returns trigger
language plpgsql
as $$
declare
  done text;
begin
  if coalesce(current_setting('gateway.commit_event', true), '') not in ('', 'done') then
    done := gateway.finalize();
  end if;
  return null;
end $$;

-- Makes the stamp of a bulk load final at once, so that its rows are written once. It must be the first statement of the
-- transaction. The watermark then stays until the transaction ends, for all lists.
--
-- expected: how long the load will take, at most an hour. Its stamp lies ahead by that time: the rows are not listed
-- before, and the watermark stays only when the load takes longer.
-- Returns the stamp.
create function gateway.announce_bulk_write(expected interval default interval '0') returns timestamptz
language plpgsql
as $$
begin
  if not expected between interval '0' and interval '1 hour' then
    raise exception 'expected must be an interval of 0 to 60 minutes, for example ''2 minutes'', and not ''%''', expected
      using errcode = 'invalid_parameter_value';
  end if;
  perform gateway.settle_stamps((extract(epoch from expected) * 1000000)::bigint);
  return gateway.transaction_stamp();
end $$;

-- Raises an error outside READ COMMITTED. REPEATABLE READ and SERIALIZABLE see the database as it was when the transaction
-- began. A change that concerns other records (the products in a category, the tenants below one, all rows of a table that
-- is truncated) would miss those that were committed since.
--
-- Takes the kind of the statement, for the message.
create function gateway.require_read_committed() returns trigger
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception '% of table % needs READ COMMITTED: the snapshot of a % transaction lacks records that it concerns',
      tg_argv[0], tg_table_name, upper(current_setting('transaction_isolation'))
      using errcode = 'active_sql_transaction',
            hint = 'Repeat it in a transaction that begins with: begin isolation level read committed.';
  end if;
  return null;
end $$;
