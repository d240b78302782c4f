-- Returns the relations that a view reads, directly or through other views.
create or replace function gateway.relations_read_by(view regclass) returns setof regclass
language sql stable
begin atomic
  with recursive reads (relation) as (
    select view
    union
    select refobjid::regclass from reads join gateway.view_reference on reader = relation where refclassid = 'pg_class'::regclass
  )
  select relation from reads where relation <> view;
end;
