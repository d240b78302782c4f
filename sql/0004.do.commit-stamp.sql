-- No record is ever lost in a sync: updated_at says when a change could first be seen, not when it was written.
--
-- A reader that resumes from server_time must find every row that it has not seen. A row stamped inside a
-- transaction that commits later is behind a reader that came by in between. So every writer lights a beacon before
-- it takes its stamp, and it burns until the commit can be seen: a shared advisory lock, of which the key is the
-- time. Postgres puts it out at the end of the transaction, whatever end that is. Readers look at the beacons first
-- (pg_locks), and then list, under a snapshot taken after that look, only rows stamped before the oldest of them:
-- that is the watermark, and the server_time. Nobody takes a beacon for himself alone, so nobody waits.
--
-- A beacon that burns for seconds would hold the watermark back for seconds. So there are two:
--   writing     lit at a transaction's first change, before its rows are stamped. Readers heed it while it is young.
--   committing  lit at commit, and always heeded. When the writing beacon is still young, it has that one's time,
--               and the stamps stand. Otherwise it has a time of its own, and the rows are stamped anew after it.
-- A reader who finds a writing beacon too old to heed looked after its youth had ended. A transaction that kept its
-- stamps had lit its committing beacon before that: it burns still, or the commit can be seen.
--
-- Assumed: pages are read on the primary, under READ COMMITTED, and the clock does not step back.

-- For how long a writing beacon is heeded. Shorter means less lag, and more transactions that stamp their rows twice.
create function gateway.beacon_youth() returns interval
language sql immutable parallel safe
return interval '5 milliseconds';

-- A beacon's key: its kind above 52 bits, its time in microseconds below.
create function gateway.beacon_key(kind integer, lit bigint) returns bigint
language sql immutable parallel safe
return (kind::bigint << 52) | lit;

create function gateway.writing() returns integer language sql immutable parallel safe return 1711;
create function gateway.committing() returns integer language sql immutable parallel safe return 1712;

create function gateway.clock_microseconds() returns bigint
language sql volatile parallel safe
return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

create function gateway.from_microseconds(count bigint) returns timestamptz
language sql immutable parallel safe
return timestamptz 'epoch' + count * interval '1 microsecond';

-- The stamp that all rows of this transaction get. The first of them lights the writing beacon, and then takes it.
-- The notes are the transaction's own settings; a rollback to a savepoint undoes them and the beacon alike.
create function gateway.stamp() returns timestamptz
language plpgsql
as $$
declare
  noted text := current_setting('gateway.stamp', true);
  lit bigint;
  done text;
begin
  if noted <> '' then
    return gateway.from_microseconds(noted::bigint);
  end if;
  lit := gateway.clock_microseconds();
  done := pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.writing(), lit));
  noted := gateway.clock_microseconds()::text;
  done := set_config('gateway.lit', lit::text, true) || set_config('gateway.stamp', noted, true);
  return gateway.from_microseconds(noted::bigint);
end $$;

-- A loader that keeps the stamps it brings brings no future: a page would not list it before that has come.
create function gateway.refuse_future(stamp timestamptz) returns void
language plpgsql
as $$
begin
  if stamp > clock_timestamp() then
    raise exception 'updated_at cannot lie in the future: %', stamp using errcode = 'check_violation';
  end if;
end $$;

-- Notes in which list a stamped row stands, in case the rows have to be found again at commit. Beyond some hundred
-- tenants it notes that all are concerned.
create function gateway.note_touched(resource text, tenant text) returns void
language plpgsql
as $$
declare
  touched constant text := coalesce(current_setting('gateway.touched', true), '');
  list text := ' ' || resource || ':' || tenant || ' ';
begin
  if strpos(touched, list) = 0 and strpos(touched, ' ' || resource || ':* ') = 0 then
    if length(touched) > 4000 then
      list := ' ' || resource || ':* ';
    end if;
    perform set_config('gateway.touched', touched || list, true);
  end if;
end $$;

-- Before each row: gives it the transaction's stamp. What each row of a bulk load goes through makes no calls that it
-- can do without; this is gateway.stamp and gateway.note_touched, written out.
create function gateway.stamp_row() returns trigger
language plpgsql
as $$
declare
  noted constant text := current_setting('gateway.stamp', true);
  touched constant text := coalesce(current_setting('gateway.touched', true), '');
  done text;
begin
  if coalesce(current_setting('gateway.keep_updated_at', true), '') = 'on' then
    if new.updated_at > clock_timestamp() then
      perform gateway.refuse_future(new.updated_at);
    end if;
    return new;
  end if;
  if noted <> '' then
    new.updated_at := gateway.from_microseconds(noted::bigint);
  else
    new.updated_at := gateway.stamp();
  end if;
  if strpos(touched, ' ' || tg_table_name || ':' || new.tenant_id || ' ') = 0
    and strpos(touched, ' ' || tg_table_name || ':* ') = 0 then
    done := set_config('gateway.touched', touched || ' ' || tg_table_name || ':'
      || case when length(touched) > 4000 then '*' else new.tenant_id::text end || ' ', true);
  end if;
  return new;
end $$;

-- Whether a row of a list that is noted has the transaction's stamp already, as when it is stamped anew.
create function gateway.bears_stamp(updated_at timestamptz, list text) returns boolean
language sql stable
return updated_at = gateway.from_microseconds(nullif(current_setting('gateway.stamp', true), '')::bigint)
  and strpos(current_setting('gateway.touched', true), list) > 0;

-- The tenants are one list, that of all.
create function gateway.stamp_tenant() returns trigger
language plpgsql
as $$
begin
  if gateway.keeps_updated_at() then
    perform gateway.refuse_future(new.updated_at);
  else
    new.updated_at := gateway.stamp();
    perform gateway.note_touched('tenant', '*');
  end if;
  return new;
end $$;

-- A variant is in no list of its own; its product, which shows it, is stamped by the triggers that move products.
create function gateway.stamp_variant() returns trigger
language plpgsql
as $$
begin
  if gateway.keeps_updated_at() then
    perform gateway.refuse_future(new.updated_at);
  else
    new.updated_at := gateway.stamp();
  end if;
  return new;
end $$;

-- A removal bears no stamp of its loader's: it happens now.
create function gateway.stamp_removal() returns trigger
language plpgsql
as $$
begin
  new.updated_at := gateway.stamp();
  perform gateway.note_touched('removal', new.tenant_id::text);
  return new;
end $$;

-- Stamps the rows of a list anew: those that this transaction stamped, which are found by their stamp. Customers
-- without consent are in no list.
create function gateway.stamp_list_anew(resource text, owner bigint, former timestamptz, stamp timestamptz) returns void
language plpgsql
as $$
begin
  case resource
    when 'product' then
      update public.product set updated_at = stamp
      where tenant_id = owner and coalesce(updated_at, '-infinity') = former;
    when 'purchased_voucher' then
      update public.purchased_voucher set updated_at = stamp where tenant_id = owner and updated_at = former;
    when 'customer' then
      update public.customer set updated_at = stamp
      where tenant_id = owner and updated_at = former and marketing_opted;
    when 'removal' then
      update gateway.removal set updated_at = stamp where tenant_id = owner and updated_at = former;
  end case;
end $$;

-- The same for a list as it was noted: `product:12`, `product:*` for those of all tenants, `tenant:*`.
create function gateway.stamp_anew(list text, former timestamptz, stamp timestamptz) returns void
language plpgsql
as $$
declare
  kind constant text := split_part(list, ':', 1);
  owner constant text := split_part(list, ':', 2);
begin
  if kind = 'tenant' then
    update public.tenant set updated_at = stamp where updated_at = former;
  elsif owner = '*' then
    perform gateway.stamp_list_anew(kind, owners.id, former, stamp)
    from (select id from public.tenant
          union select removal.tenant_id from gateway.removal where kind = 'removal') owners;
  else
    perform gateway.stamp_list_anew(kind, owner::bigint, former, stamp);
  end if;
end $$;

-- At commit, once for a transaction: see above. The settings change before the rows do: stamping a row anew goes
-- through gateway.stamp_row like any change, and so does what this transaction may yet write when its constraints
-- were set to be immediate.
create function gateway.commit_stamps() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  noted text := current_setting('gateway.stamp', true);
  lit bigint;
  former timestamptz;
  touched text;
  list text;
  youth constant bigint := extract(epoch from gateway.beacon_youth()) * 1000000;
begin
  if coalesce(noted, '') = '' then
    return null;
  end if;
  lit := current_setting('gateway.lit')::bigint;
  if gateway.clock_microseconds() - lit < youth then
    perform pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.committing(), lit));
    if gateway.clock_microseconds() - lit < youth then
      return null;
    end if;
  end if;
  former := gateway.from_microseconds(noted::bigint);
  touched := trim(coalesce(current_setting('gateway.touched', true), ''));
  -- A variant that was not written after all has taken the stamp, and is in no list.
  if touched = '' then
    return null;
  end if;
  lit := gateway.clock_microseconds();
  perform pg_advisory_xact_lock_shared(gateway.beacon_key(gateway.committing(), lit));
  noted := gateway.clock_microseconds()::text;
  perform set_config('gateway.lit', lit::text, true), set_config('gateway.stamp', noted, true);
  foreach list in array regexp_split_to_array(touched, ' +') loop
    perform gateway.stamp_anew(list, former, gateway.from_microseconds(noted::bigint));
  end loop;
  return null;
end $$;

-- Until when a page may list: nothing that is not yet seen will bear an earlier stamp. To be asked before the
-- snapshot of the page is taken, so by a function that then asks for the page.
create function gateway.watermark() returns timestamptz
language plpgsql volatile
as $$
declare
  looked constant bigint := gateway.clock_microseconds();
  youth constant bigint := extract(epoch from gateway.beacon_youth()) * 1000000;
  oldest bigint;
begin
  if pg_is_in_recovery() then
    raise exception 'a standby does not see the beacons of the primary' using errcode = 'read_only_sql_transaction';
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'a page needs a snapshot of its own: READ COMMITTED' using errcode = 'active_sql_transaction';
  end if;
  select min(beacon.lit) into oldest
  from (
    select (classid::bigint << 32 | objid::bigint) >> 52 as kind,
           (classid::bigint << 32 | objid::bigint) & ((1::bigint << 52) - 1) as lit
    from pg_locks
    where locktype = 'advisory' and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
  ) beacon
  where beacon.kind = gateway.committing() or (beacon.kind = gateway.writing() and looked - beacon.lit < youth);
  return gateway.from_microseconds(least(looked, oldest));
end $$;
