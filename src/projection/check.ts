import type { Sql } from '../db/sql.ts'

/**
 * A problem of a type of records: records that differ from the sources, rejected keys, or a comparison that was not
 * possible.
 */
export interface RecordProblem {
  record: string
  /**
   * The reason why keys were rejected, or why the type was not compared; null for records that differ. When keys were
   * rejected for different values, the reason does not have the values.
   */
  reason: string | null
  keys: number
  /** At most five keys with the problem; empty for a problem of the whole type. */
  firstKeys: string[]
  /** The records that differ. `reason` is null when the record only differs in `columns`. */
  differences: { key: string; columns: string[]; reason: string | null }[]
}

/**
 * Compares all records with their sources, in one snapshot. The result is exact even while others write, because the
 * comparison leaves out the keys that a step will evaluate.
 *
 * @param sql a pool without a statement timeout, because the comparison reads all records
 * @param repairs true makes steps evaluate again the records that differ
 * @returns one entry per type and reason; none when all records are correct
 */
export async function findRecordProblems(sql: Sql, repairs = false): Promise<RecordProblem[]> {
  const differences = sql.unsafe(repairs ? 'gateway.repair_records()' : 'gateway.record_differences()')
  return await sql<RecordProblem[]>`
    select /* record.find_problems */
           record, case count(distinct reason) when 1 then min(reason) else gateway.without_values(min(reason)) end as reason,
           count(*) as keys,
           array_to_json(coalesce((array_agg(key order by length(key), key) filter (where key is not null))[:5], '{}')) as "firstKeys",
           coalesce(json_agg(difference order by key) filter (where reason is null), '[]') as differences
    from (
      select record, key, case when key is null then reason end as reason,
             case when key is not null
               then json_build_object('key', key, 'columns', coalesce(columns, '{}'), 'reason', reason) end as difference
      from ${differences}
      union all
      select record, key, reason, null from gateway.rejected
      union all
      select record, null, coalesce(broken.reason, stopped, 'Steps will compare it, or do so now.'), null
      from (select * from gateway.step order by stamp desc limit 1) last
      right join gateway.mapping on true
      left join gateway.broken_mapping broken using (record) left join gateway.scan using (record)
      where record not in (select gateway.comparable_types(last))
    ) problem
    group by record, gateway.without_values(reason) order by record, 2`
}

/** The interval between two parts of the background check, in seconds. */
export const checkInterval = 10

/**
 * Compares a part of the records with their sources, and makes steps evaluate the records that differ. The parts of one
 * day include all records.
 *
 * @returns the types and keys of the records that differ, such as `voucher 7`
 */
export async function checkSomeRecords(sql: Sql): Promise<string[]> {
  // The statements of one message are one transaction, with one snapshot. So no step changes the records during the
  // comparison.
  const results = await sql
    .unsafe<{ name: string }[][]>(
      `set /* record.check_some */ transaction isolation level repeatable read;
       select /* record.check_some */ record || ' ' || key as name
       from (
         select greatest(50, sum(reltuples) * ${checkInterval} / 80000)::integer as at_most
         from pg_class
         where relnamespace = 'gateway'::regnamespace and relname = any(enum_range(null::gateway.record_type)::text[])
       ) part, gateway.check_records(at_most)`,
    )
    .simple()
  return results.at(-1)?.map(({ name }) => name) ?? []
}
