  new_key := '';
  old_key := '';
  begin
    if tg_op operator(pg_catalog.<>) 'DELETE' then new_key := {new_key}; end if;
    if tg_op operator(pg_catalog.<>) 'INSERT' then old_key := {old_key}; end if;{same_shown}
  exception when others then
    begin
      execute {any_key} into new_key using new;
      execute {any_key} into old_key using old;
    exception when others then
      insert into gateway.note (record, reason) values ({record}, {reason});
    end;
  end;
  if pg_catalog.octet_length(new_key) operator(pg_catalog.>) 10000 or pg_catalog.octet_length(old_key) operator(pg_catalog.>) 10000 then
    insert into gateway.note (record, reason) values ({record}, {reason});
    new_key := '';
    old_key := '';
  end if;
  if new_key operator(pg_catalog.<>) '' then
    insert into gateway.note (record, source, key) values ({record}, {source}, new_key);
  end if;
  if old_key operator(pg_catalog.<>) '' and old_key operator(pg_catalog.<>) new_key then
    insert into gateway.note (record, source, key) values ({record}, {source}, old_key);
  end if;
