-- Compares the stored bytes of the columns that records show, because different values can have the same text in a
      -- session. When the update changes none of these columns, each value occurs as often before the update as after it.
      select distinct key from (
        select key, shown, pg_catalog.sum(side) over (partition by key order by shown using operator(pg_catalog.*<)) as surplus from (
          select {key} as key, row({shown}) as shown, 1 as side from changed where {has_key}
          union all select {key}, row({shown}), -1 from former where {has_key}) as row) as counted
      where surplus operator(pg_catalog.<>) 0 or pg_catalog.strpos(pg_catalog.concat(shown), '*') operator(pg_catalog.>) 0
