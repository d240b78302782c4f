-- Returns a query of a mapping with qualified names. Parsing a query can run code: the checks of a domain, for a
-- constant that is an array of the domain. So such constants are refused, and parsing the result runs no code.
call gateway.create_reader('gateway.parsed_query(query text, path text)', 'setof text', $statements$
    perform set_config('search_path', $2, true);
    -- A text of two statements fails here with a syntax error.
    execute pg_catalog.concat(E'create temporary view parsed as select from (\n', $1, E'\n) mapping');
    execute pg_catalog.concat(E'create or replace temporary view parsed_query as\n', $1);
    perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    if exists (
      select from pg_rewrite cross join regexp_matches(ev_action::text, ':consttype (\d+) ', 'g') constant
      join pg_type given on given.oid = constant[1]::oid join pg_type on pg_type.oid in (given.oid, given.typelem)
      where ev_class = 'pg_temp.parsed_query'::regclass and pg_type.typtype in ('c', 'd', 'm', 'r')
        and pg_type.typnamespace <> 'pg_catalog'::regnamespace)
    then
      raise exception 'it has a constant of a composite type, of a range type, or of an array of these or of a domain'
        using errcode = 'feature_not_supported', hint = 'Compare texts instead.';
    end if;
    return query select rtrim(pg_get_viewdef('pg_temp.parsed_query'::regclass), ';');$statements$, reads_only => false);
