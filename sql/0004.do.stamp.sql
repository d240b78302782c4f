-- Stamps: triggers set updated_at of every row that is inserted or changed (R22), whatever the writer gives.
--
-- A transaction takes its stamp with its first change, after its writing marker (0003). A deferred trigger, the commit
-- event, runs once for a transaction, at its commit or at `set constraints all immediate`. There the stamps become final:
-- while the writing marker counts, the rows keep theirs. Later, rows whose stamp has passed get a new one.
--
-- A transaction that writes for long would write all rows twice. So it looks at the clock from time to time, and gives the
-- rows that follow a stamp that lies ahead, by four times as long as it has been writing (gateway.plan_stamp). Rows whose
-- stamp still lies ahead at commit keep it. All are listed when five times as long has passed as writing took.
--
-- The state of a transaction is in settings of its own, which a rollback to a savepoint undoes together with the markers:
--   gateway.stamp          the stamp of the next row, in microseconds
--   gateway.former_stamps  the earlier ones, with a space before each
--   gateway.marked_at      the time of the write marker, in microseconds
--   gateway.look_at        when a row looks at the clock again, in seconds; Infinity when the stamp is final
--   gateway.written        what the last look found: its time, the rows that were written, how long writing took
--   gateway.touched_lists  the lists of the stamped rows, as ' product:12  tenant:* '
--   gateway.commit_event   wanted: a stamp was taken, and the next row that is written to a list queues the event
--                          queued: the event will run
--                          done: the stamp is final, and all rows that are written from now on get the same one
--   gateway.kept_stamp     recorded: the transaction keeps stamps, and has requested a fill (0017)
-- A row that takes no stamp (an update that changes nothing, a row with a kept stamp) does not find `wanted` and queues no
-- event. Otherwise the event could run before the stamp is taken, and later rows would have no committing marker.
--
-- `set local gateway.keep_updated_at = 'on'` is for loaders: rows keep the stamps that the loader gives.

-- Returns whether the transaction keeps the stamps that it gives.
create function gateway.keeps_updated_at() returns boolean
language sql stable parallel safe
return coalesce(current_setting('gateway.keep_updated_at', true), '') = 'on';

-- Gives the rows that follow a stamp that lies ahead of the clock, if this transaction has been writing for 50 ms.
--
-- The watermark waits for no marker of such a stamp: no page lists its rows before the clock reaches it, and the commit
-- event gives those that it has reached a new one. Pauses do not count: a row takes at most 100 µs.
create function gateway.plan_stamp() returns void
language plpgsql
as $$
declare
  present constant bigint := gateway.clock_microseconds();
  rows constant bigint := (
    select sum(pg_stat_get_xact_tuples_inserted(source) + pg_stat_get_xact_tuples_updated(source))
    from (select format('public.%I', name)::regclass as source from gateway.list
          union all values ('gateway.removal'::regclass), ('public.tenant'::regclass)) sources);
  written constant bigint[] := nullif(current_setting('gateway.written', true), '');
  writing bigint := 0;
begin
  if written is not null then
    writing := written[3] + greatest(least(present - written[1], 100 * (rows - written[2])), 0);
  end if;
  if writing >= 50000 then
    perform set_config('gateway.former_stamps', concat(current_setting('gateway.former_stamps', true), ' ',
                                                       current_setting('gateway.stamp')), true),
            set_config('gateway.stamp', (present + writing * 4)::text, true);
  end if;
  -- A stamp serves the rows of an eighth of this time, so that few rows have a stamp that is too early.
  perform set_config('gateway.written', array[present, rows, writing]::text, true),
          set_config('gateway.look_at', ((present + greatest(writing / 8, 5000)) / 1e6)::text, true);
end $$;

-- Returns the stamp of this transaction for the next row. The first call takes it: the writing marker first, then the clock.
--
-- Of this and the functions that single rows call, each expression costs a transaction some 0.5 µs, because plpgsql prepares
-- it once for a transaction; `perform` costs more, because it runs a statement.
create function gateway.transaction_stamp() returns timestamptz
language plpgsql
as $$
declare
  marked_at bigint;
  done text;
begin
  if coalesce(current_setting('gateway.stamp', true), '') = '' then
    marked_at := gateway.checked_clock();
    done := pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.writing_marker(), marked_at));
    done := set_config('gateway.stamp', greatest(marked_at, gateway.clock_microseconds())::text, true)
      || set_config('gateway.marked_at', marked_at::text, true)
      || set_config('gateway.look_at', ((marked_at + 5000) / 1e6::float8)::text, true)
      || set_config('gateway.commit_event', 'wanted', true);
  elsif date_part('epoch', clock_timestamp()) > current_setting('gateway.look_at')::float8 then
    perform gateway.plan_stamp();
  end if;
  return gateway.from_microseconds(current_setting('gateway.stamp')::bigint);
end $$;

-- Returns the same for a row of a list, and records the list, so that the commit event finds the row. After some hundred
-- tenants it records the lists of all tenants.
--
-- list_table: the table without its schema. tenant: the id of the tenant whose list it is; '*' for all tenants.
create function gateway.list_stamp(list_table text, tenant text) returns timestamptz
language plpgsql
as $$
declare
  stamp constant timestamptz := gateway.transaction_stamp();
  touched constant text := coalesce(current_setting('gateway.touched_lists', true), '');
  list constant text := concat(' ', list_table, ':', tenant, ' ');
  lists constant text := concat(' ', list_table, ':* ');
  done text;
begin
  if strpos(touched, list) = 0 and strpos(touched, lists) = 0 then
    done := set_config('gateway.touched_lists', touched || case when length(touched) > 4000 then lists else list end, true);
  end if;
  return stamp;
end $$;

-- Raises an error when a loader gives a stamp in the future: a page would not list the row before that time.
create function gateway.reject_future_stamp(stamp timestamptz) returns void
language plpgsql
as $$
begin
  if stamp > clock_timestamp() then
    raise exception 'updated_at cannot lie in the future: %', stamp using errcode = 'check_violation';
  end if;
end $$;

-- Returns whether a row has a stamp of this transaction already, as when it is stamped again. A stamp that lies ahead of the
-- clock is then not one that a loader gives.
--
-- list: the list of the row, as in gateway.touched_lists, with its spaces. A final stamp needs none.
create function gateway.has_transaction_stamp(updated_at timestamptz, list text) returns boolean
language sql stable
return strpos(concat(current_setting('gateway.former_stamps', true), ' ', current_setting('gateway.stamp', true), ' '),
              ' ' || (extract(epoch from updated_at) * 1000000)::bigint || ' ') > 0
  and (strpos(current_setting('gateway.touched_lists', true), list) > 0
       or current_setting('gateway.commit_event', true) = 'done');

-- Stamps a row of a list that each tenant has. Each row of a bulk load calls it: the first condition is that the row needs
-- no look at the clock, and no record of its list, which a final stamp never needs.
create function gateway.stamp_row() returns trigger
language plpgsql
as $$
begin
  if current_setting('gateway.keep_updated_at', true) is distinct from 'on'
    and (current_setting('gateway.look_at', true) = 'Infinity'
         or (strpos(current_setting('gateway.touched_lists', true), concat(' ', tg_table_name, ':', new.tenant_id, ' ')) > 0
             or strpos(current_setting('gateway.touched_lists', true), concat(' ', tg_table_name, ':* ')) > 0)
            and date_part('epoch', clock_timestamp()) < nullif(current_setting('gateway.look_at', true), '')::float8)
  then
    new.updated_at := gateway.from_microseconds(current_setting('gateway.stamp')::bigint);
  elsif current_setting('gateway.keep_updated_at', true) = 'on' then
    if new.updated_at > clock_timestamp()
      and gateway.has_transaction_stamp(new.updated_at, concat(' ', tg_table_name, ':', new.tenant_id, ' ')) is not true
    then
      perform gateway.reject_future_stamp(new.updated_at);
    end if;
    if current_setting('gateway.kept_stamp', true) is distinct from 'recorded' then
      perform gateway.request_fill();
      perform set_config('gateway.kept_stamp', 'recorded', true);
    end if;
  else
    new.updated_at := gateway.list_stamp(tg_table_name, new.tenant_id::text);
  end if;
  return new;
end $$;

-- Stamps a tenant: the tenants are one list.
create function gateway.stamp_tenant() returns trigger
language plpgsql
as $$
begin
  if gateway.keeps_updated_at() then
    if gateway.has_transaction_stamp(new.updated_at, ' tenant:* ') is not true then
      perform gateway.reject_future_stamp(new.updated_at);
    end if;
  else
    new.updated_at := gateway.list_stamp('tenant', '*');
  end if;
  return new;
end $$;

-- Stamps a variant. It is in no list; the product that shows it is stamped by gateway.stamp_products (0006).
create function gateway.stamp_variant() returns trigger
language plpgsql
as $$
begin
  if gateway.keeps_updated_at() then
    perform gateway.reject_future_stamp(new.updated_at);
  else
    new.updated_at := gateway.transaction_stamp();
  end if;
  return new;
end $$;

-- The stamps that lay ahead of the clock at their commit: they do not show that the clock stepped back.
create table gateway.planned_stamp (
  stamp timestamptz not null
);
grant select, delete on gateway.planned_stamp to voucher_gateway;

-- The lists that tenants have of tables in schema public. gateway.add_list (0012) adds one.
create table gateway.list (
  name      text primary key,
  resource  text not null unique,
  condition text,
  stamp     text not null
);
comment on column gateway.list.name is 'The table';
comment on column gateway.list.resource is 'What gateway.removal calls its records';
comment on column gateway.list.condition is 'A boolean column: only rows in which it is true are in the list; null: all rows are';
comment on column gateway.list.stamp is 'The expression that the list is ordered by before id';
grant select on gateway.list to public;

-- Returns what gateway.removal may call a record: a tenant, a record of a list, or a customer without consent (0017).
create function gateway.removal_resources() returns text[]
language sql stable
return array(select resource from gateway.list) || '{tenant,customer}'::text[];

-- Returns the tenants that may have a list of a table. Deleted tenants still have removals; they are found one after the
-- other in the index of the removals.
create function gateway.list_owners(list_table text) returns bigint[]
language plpgsql
as $$
begin
  if list_table <> 'removal' then
    return array(select id from public.tenant);
  end if;
  return array(
    with recursive owner (id) as (
      select min(tenant_id) from gateway.removal
      union all
      select (select min(tenant_id) from gateway.removal where tenant_id > owner.id) from owner where owner.id is not null
    )
    select id from owner where id is not null);
end $$;

-- Returns which rows of a list have one of several stamps: their table, and a condition with two parameters, tenants and
-- stamps. The list of tenants needs no tenants. The rows that the condition of a list excludes are a second result: the
-- follower (0017) reads them too, and a partial index leads to each of both.
create function gateway.stamped_rows(list_table text) returns table (source text, condition text)
language sql stable
begin atomic
  select 'gateway.removal', format('tenant_id = any($1) and resource = any(%L) and updated_at = any($2)',
                                   gateway.removal_resources())
  where list_table = 'removal'
  union all
  select 'public.tenant', 'updated_at = any($2)' where list_table = 'tenant'
  union all
  select format('public.%I', list.name),
         format('tenant_id = any($1) and %s = any($2)', list.stamp) || coalesce(part.condition, '')
  from gateway.list left join lateral (
    values (' and ' || list.condition), (' and not ' || list.condition)
  ) part (condition) on list.condition is not null
  where list.name = list_table;
end;

-- Returns the lists whose rows this transaction has stamped: for each its table, and its tenants except for the list of
-- tenants.
create function gateway.touched_lists() returns table (list_table text, owners bigint[])
language plpgsql
as $$
begin
  return query
    select list.name,
           case when list.name = 'tenant' then '{}'
                when bool_or(list.tenant = '*') then gateway.list_owners(list.name)
                else array_agg(nullif(list.tenant, '*')::bigint) end
    from (select split_part(touched, ':', 1) as name, split_part(touched, ':', 2) as tenant
          from regexp_split_to_table(current_setting('gateway.touched_lists', true), ' +') as touched) list
    where list.name <> ''
    group by list.name;
end $$;

-- Returns how many rows of a list have one of several stamps. One statement for all tenants: the list's index is searched for
-- each of them, which a planner that knows nothing of new stamps takes for more than reading the table.
create function gateway.count_stamped(list_table text, owners bigint[], stamps bigint[]) returns bigint
language plpgsql set enable_seqscan = off
as $$
declare
  counted bigint;
begin
  execute (select 'select ' || string_agg(format('(select count(*) from %s where %s)', source, condition), ' + ')
           from gateway.stamped_rows(list_table))
  into counted using owners, array(select gateway.from_microseconds(stamp) from unnest(stamps) as stamp);
  return counted;
end $$;

-- Gives the rows of all touched lists that have one of the former stamps of this transaction a new one. Locks these rows,
-- which the transaction has written, and so locked, already.
create function gateway.restamp(formers bigint[], stamp bigint) returns void
language plpgsql set enable_seqscan = off
as $$
declare
  list record;
begin
  for list in
    select touched.owners, source, condition
    from gateway.touched_lists() as touched, gateway.stamped_rows(touched.list_table)
    where formers <> '{}'
  loop
    execute format('update %s set updated_at = $3 where %s', list.source, list.condition)
    using list.owners, array(select gateway.from_microseconds(former) from unnest(formers) as former),
          gateway.from_microseconds(stamp);
  end loop;
end $$;

-- Makes the stamps of this transaction final: gives it a stamp under a committing marker, and gives it to the rows that are
-- written so far and whose stamp has passed.
--
-- The watermark may wait for 10 ms. When stamping is expected to take longer, the stamp lies ahead by this time, and needs
-- no marker before the clock reaches it. So the rows are stamped first; those whose stamp has passed by then are stamped
-- again for a later time. The plan is 2.5 times as long as the transaction has taken, and at most 100 µs a row, because it
-- may have been idle.
--
-- Runs as the owner: a writer may lack the right to update its rows.
--
-- announced: by how many microseconds the stamp lies ahead of the clock, with a marker from now on; null for as long as the
-- stamping takes.
create function gateway.take_final_stamp(announced bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  -- The stamps that rows of this transaction have, ascending.
  stamps bigint[] := array_remove(string_to_array(
    concat(current_setting('gateway.former_stamps', true), ' ', current_setting('gateway.stamp', true)), ' '), '');
  ahead bigint := announced;
  present bigint := gateway.clock_microseconds();
  -- How long stamping is expected to take, at most: stamps that pass meanwhile count as passed.
  margin bigint := coalesce((nullif(current_setting('gateway.written', true), '')::bigint[])[3] / 4, 0);
  passed bigint[] := array(select each from unnest(stamps) as each where each <= present + margin);
  stamp bigint;
begin
  if announced is null then
    ahead := greatest(10000, least((present - stamps[1]) * 2.5, 100 * (
      select coalesce(sum(gateway.count_stamped(list_table, owners, passed)), 0) from gateway.touched_lists())));
    if ahead = 10000 and passed = stamps then
      announced := 0;
      ahead := 0;
    end if;
  end if;
  loop
    present := gateway.checked_clock();
    if announced is null then
      passed := array(select each from unnest(stamps) as each where each <= present + margin);
      stamp := greatest(present + margin + ahead, stamps[cardinality(stamps)]);
    else
      passed := stamps;
      stamp := present + ahead;
      perform pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), stamp));
      stamp := greatest(stamp, gateway.clock_microseconds());
    end if;
    -- The settings change first: the updates below set off the stamping triggers like all others.
    perform set_config('gateway.marked_at', stamp::text, true), set_config('gateway.stamp', stamp::text, true),
            set_config('gateway.look_at', 'Infinity', true), set_config('gateway.commit_event', 'done', true);
    perform gateway.restamp(passed, stamp);
    stamps := array(select distinct each from unnest(stamps || stamp) as each where each <> all(passed) order by each);
    exit when announced is not null;
    -- One marker is enough: it keeps pages from the rows of its stamp and of all later ones.
    if gateway.clock_microseconds() < stamps[1] then
      perform pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), stamps[1]));
      -- The second look at the clock is for a transaction that was suspended before the marker.
      exit when gateway.clock_microseconds() < stamps[1];
    end if;
    ahead := greatest(ahead, 2 * (gateway.clock_microseconds() - present));
    margin := margin / 2;
  end loop;
  if ahead > 0 then
    insert into gateway.planned_stamp (stamp) select gateway.from_microseconds(each) from unnest(stamps) as each;
  end if;
end $$;

-- The commit event. While the writing marker counts, the stamp becomes final as it is, under a committing marker of the
-- same time. The second look at the clock is for a transaction that was suspended between the first look and the marker.
-- A clock that lies behind the recorded one has stepped back: gateway.take_final_stamp sets gateway.clock_step.
--
-- Most transactions get no further, so this function has the rights and the search_path of the writer. With another path
-- Postgres would plan the expressions of the functions that both call again in each transaction.
create function gateway.finalize_stamps() returns trigger
language plpgsql
as $$
declare
  marked_at bigint;
  done text;
begin
  if coalesce(current_setting('gateway.commit_event', true), '') in ('', 'done') then
    return null;
  end if;
  marked_at := current_setting('gateway.marked_at');
  if gateway.clock_microseconds() < marked_at + (extract(epoch from gateway.writing_marker_lifetime()) * 1000000)::bigint then
    done := pg_advisory_xact_lock_shared(gateway.write_marker_key(gateway.committing_marker(), marked_at));
    if gateway.clock_microseconds() between pg_sequence_last_value('gateway.recorded_clock')
      and marked_at + (extract(epoch from gateway.writing_marker_lifetime()) * 1000000)::bigint - 1
    then
      done := set_config('gateway.commit_event', 'done', true);
      return null;
    end if;
  end if;
  perform gateway.take_final_stamp(null);
  return null;
end $$;

-- For a bulk load, as the first statement of its transaction: makes the stamp final at once, so that the rows are written
-- once. The watermark then stays until the transaction ends, for all lists.
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
  perform gateway.take_final_stamp((extract(epoch from expected) * 1000000)::bigint);
  return gateway.transaction_stamp();
end $$;

-- Raises an error outside READ COMMITTED. REPEATABLE READ and SERIALIZABLE see the database as it was when the transaction
-- began. A change that concerns other records (the products in a category, the tenants below one, all rows of a table that
-- is truncated) would miss those that were committed since.
--
-- Takes what the statement is, for the message.
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

-- Lets the rows of a table queue the commit event. The condition queues it once for a transaction; as a function it would
-- cost 2 % of a transaction that inserts one row.
create procedure gateway.add_commit_event(stamped regclass)
language plpgsql
as $$
begin
  execute format($trigger$
    create constraint trigger z_finalize_stamps after insert or update on %1$s deferrable initially deferred
      for each row when (case when current_setting('gateway.commit_event', true) = 'wanted'
                              then set_config('gateway.commit_event', 'queued', true) is not null end)
      execute function gateway.finalize_stamps();
    alter table %1$s enable always trigger z_finalize_stamps$trigger$, stamped);
end $$;
