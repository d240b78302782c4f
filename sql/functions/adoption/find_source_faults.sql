-- Finds errors of the relations that a mapping reads.
create or replace function gateway.find_source_faults(mapped gateway.record_type) returns setof gateway.finding
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select level, format('It reads %s, %s', gateway.name_of(relation), problem), remedy, null::jsonb
  from gateway.relations_read_by(gateway.view_of(mapped::text)) relation join pg_class on pg_class.oid = relation
  cross join lateral (values
    (relkind = 'f', 'error', 'a foreign table, whose changes nothing notes', 'Copy its rows into a table, and read that one'),
    (relkind = 'm', 'error', 'a materialized view, whose changes nothing notes', 'Read the tables that it reads'),
    (relkind in ('r', 'p') and relnamespace = 'pg_catalog'::regnamespace, 'error', 'a table of the system',
     'Leave it out: no trigger can note its changes'),
    (relpersistence = 't', 'error', 'a temporary table, which other sessions do not see', 'Read a permanent table'),
    (relpersistence = 'u', 'warning', 'an unlogged table, which a crash of the server empties',
     format('Run: alter table %s set logged;', gateway.name_of(relation))),
    (relispartition, 'error', 'a partition: what is written through its parent is not noted',
     format('Read %s instead', (select gateway.name_of(inhparent) from pg_inherits where inhrelid = relation limit 1))),
    (relkind in ('r', 'p') and not pg_has_role(relowner, 'usage'), 'error', 'whose triggers only its owner can create',
     format('Run: grant %s to %I;', relowner::regrole, current_user)),
    (row_security_active(relation), 'error', format('which shows %I only some of its rows (row level security)', current_user),
     format('Let a superuser run: alter role %I bypassrls;', current_user)),
    (relrowsecurity and not (select rolbypassrls from pg_roles where rolname = 'voucher_gateway_reader') and relation in (
       select refobjid from gateway.view_reference where reader = gateway.view_of(mapped::text)), 'error',
     'which shows voucher_gateway_reader only some of its rows (row level security)',
     'Let a superuser run: alter role voucher_gateway_reader bypassrls;'),
    (relkind in ('r', 'p') and (relreplident = 'n' or relreplident = 'd' and not exists (
       select from pg_index where indrelid = relation and indisprimary)), 'warning',
     'which has no replica identity: once logical replication publishes it, its updates and deletes fail',
     'Before you replicate it, add a primary key, or make a unique index of columns that are not null its replica identity')
  ) fault (applies, level, problem, remedy)
  where applies
  union all
  select 'warning', format('It reads %s.%I, a generated column, which logical replication leaves out before PostgreSQL 18',
                           gateway.name_of(attrelid), attname), 'If the table is replicated, write the expression in the select', null::jsonb
  from (select distinct attrelid, attname
        from gateway.view_reference join pg_attribute on attrelid = refobjid and attnum = refobjsubid
        where reader = gateway.view_of(mapped::text) and refclassid = 'pg_class'::regclass and attgenerated <> '') generated
  union all
  select distinct 'warning',
         format('%s calls %s, and changes of tables that this function reads are not noted',
                case reader when gateway.view_of(mapped::text) then 'It' else 'The view ' || gateway.name_of(reader) end, proc.oid::regprocedure),
         format('Write what it does in the select. If it depends on its arguments alone, run: alter function %s immutable;',
                proc.oid::regprocedure), null::jsonb
  from gateway.view_reference join pg_proc proc on proc.oid = refobjid
  where reader in (select gateway.view_of(mapped::text) union select gateway.relations_read_by(gateway.view_of(mapped::text)))
    and refclassid = 'pg_proc'::regclass and provolatile <> 'i'
    and pronamespace not in ('pg_catalog'::regnamespace, 'gateway'::regnamespace)
  union all
  select * from gateway.find_reader_faults(gateway.view_of(mapped::text))
  union all
  select * from gateway.find_clock_faults(gateway.view_of(mapped::text))
$$;
