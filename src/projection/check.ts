import type { Sql } from '../db/sql.ts'

/** How a record differs from its source. */
interface RecordDifference {
  key: string
  columns: string[]
  /** Null: it differs in the columns. */
  reason: string | null
}

/** Records of a type that are not as their sources say, or keys of it that were rejected. */
export interface RecordProblem {
  record: string
  /** Why keys were rejected, or why steps do not follow the mapping; null for records that differ. */
  reason: string | null
  keys: number
  /** Null: the problem concerns the whole type. */
  firstKey: string | null
  /** Of records that differ. */
  differences: RecordDifference[]
}

/**
 * Compares all records with their sources, in one snapshot. It is exact while others write, because it leaves out the keys
 * that a step will evaluate.
 *
 * @param sql a pool without a statement timeout: it reads all records
 * @param repairs whether steps evaluate the records that differ
 * @returns one entry for each type and reason; none when all records are right
 */
export async function findRecordProblems(sql: Sql, repairs = false): Promise<RecordProblem[]> {
  const differences = sql.unsafe(repairs ? 'gateway.repair_records()' : 'gateway.record_differences()')
  return await sql<RecordProblem[]>`
    select /* record.find_problems */ record, reason, count(*) as keys, min(key) as "firstKey",
           coalesce(json_agg(difference order by key) filter (where reason is null), '[]') as differences
    from (
      select record, key, null as reason, json_build_object('key', key, 'columns', coalesce(columns, '{}'), 'reason', reason) as difference
      from ${differences}
      union all
      select record, key, reason, null from gateway.rejected
      union all
      select record, null, reason, null from gateway.broken_mapping
      union all
      select record, null, stopped, null from gateway.scan where stopped is not null
    ) problem
    group by record, reason order by record, reason`
}

/** The interval of the parts of the check that goes on in the background, in seconds. */
export const checkInterval = 10

/**
 * Compares a part of the records with their sources, so that all are compared within a day, and lets steps evaluate those that
 * differ.
 *
 * @returns the keys of these, as `voucher 7`
 */
export async function checkSomeRecords(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select /* record.check_some */ record || ' ' || key as name
    from (
      select greatest(200, sum(reltuples) * ${checkInterval}::integer / 80000)::integer as at_most
      from pg_class
      where relnamespace = 'gateway'::regnamespace and relname = any(enum_range(null::gateway.record_type)::text[])
    ) part, gateway.check_records(at_most)`
  return rows.map(({ name }) => name)
}
