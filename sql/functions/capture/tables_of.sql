-- Returns a source and its partitions, at all levels. It leaves out foreign tables, whose rows are written on another
-- server. It does not use pg_partition_tree, which locks the partitions until the end of the transaction.
create or replace function gateway.tables_of(source regclass) returns setof regclass
language sql stable
begin atomic
  with recursive tree (part) as (
    select source
    union
    select inhrelid::regclass from tree join pg_inherits on inhparent = part join pg_class on pg_class.oid = inhrelid and relispartition
  )
  select part from tree where (select relkind from pg_class where oid = part) <> 'f';
end;
