/** Reads how far the steps have written the records of each mapping. */
import type { Sql } from '../db/sql.ts'

interface RecordState {
  record: string
  records: number
  rejected: number
  /**
   * The reason why the mapping is broken, why a scan has stopped, or why a scan runs; null when there is no such
   * reason.
   */
  state: string | null
}

/** Reads the state of each type of records with a mapping. Only the owner of the schema has the right to read it. */
export async function readRecordStates(sql: Sql): Promise<RecordState[]> {
  return await sql<RecordState[]>`
    select /* adoption.read_states */ mapping.record::text as record,
      (xpath('/row/count/text()', query_to_xml('select count(*) from gateway.' || mapping.record, false, true, '')))[1]::text::bigint
        as records,
      (select count(*) from gateway.rejected where rejected.record = mapping.record) as rejected,
      coalesce(broken.reason, scan.stopped, scan.reason || coalesce(' Evaluated up to key ' || reached || '.', '')) as state
    from gateway.mapping
    left join gateway.scan on scan.record = mapping.record
    left join gateway.broken_mapping broken on broken.record = mapping.record
    order by mapping.record`
}
