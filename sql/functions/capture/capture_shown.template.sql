-- Compares what records show as the bytes that are stored: by its settings, a session has the same text for different values. As
      -- many rows before and after the update have each of these, unless it changes them.
      select distinct key from (
        select key, shown, pg_catalog.sum(side) over (partition by key order by shown using operator(pg_catalog.*<)) as surplus from (
          select {key} as key, row({shown}) as shown, 1 as side from changed where {has_key}
          union all select {key}, row({shown}), -1 from former where {has_key}) as row) as counted
      where surplus operator(pg_catalog.<>) 0 or pg_catalog.strpos(pg_catalog.concat(shown), '*') operator(pg_catalog.>) 0
