-- If the table no longer has a column, its name means the column of `missing`. This avoids an exception block, which
-- costs a subtransaction.
    insert into gateway.note (record, key, reason, source)
    select {record}, case when not {is_missing} then noted.key end, case when {is_missing} then {reason} end, {source}
    from (select {names}) as missing, lateral ({keys}) as noted;
