-- Returns the id of a key whose column is no integer, or null when the key has no id.
--
-- assigns: true to give an id to a key without an id. With null, a key without an id gets no id, and the function
-- returns 9007199254740991.
create or replace function gateway.id_of(of_kind text, of_key text, assigns boolean) returns bigint
language plpgsql
as $$
declare
  known bigint;
begin
  select id into known from gateway.identity where kind = of_kind and key = of_key;
  if known is null and of_key is not null and assigns then
    if octet_length(of_key) > 1000 then
      raise exception 'a key of the type % has more than 1000 bytes', of_kind using errcode = 'program_limit_exceeded';
    end if;
    insert into gateway.identity (kind, key, id) values (of_kind, of_key, coalesce(gateway.own_id(of_key), nextval('gateway.identity_id_seq')))
    returning id into known;
  end if;
  return coalesce(known, gateway.own_id(of_key), case when assigns is null and of_key is not null then 9007199254740991 end);
end $$;
