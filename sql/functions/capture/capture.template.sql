create or replace function {statement_function}() returns trigger
language plpgsql security definer{settings}
as $body$
begin
  if tg_op operator(pg_catalog.=) 'UPDATE' then{update_notes}
  else{insert_notes}
  end if;
  return null;
end $body$;

create or replace function {row_function}() returns trigger
language plpgsql security definer{settings}
as $body$
declare
  new_key pg_catalog.text := '';
  old_key pg_catalog.text := '';
begin{row_notes}
  return null;
end $body$;
