/** The state of the records that steps write by the mappings. */
import type { Sql } from '../db/sql.ts'

interface RecordState {
  record: string
  records: number
  rejected: number
  /** The reason for a scan, for its stop, or for a broken mapping; null when there is none. */
  state: string | null
}

/** Reads the state of each type that has a mapping, as the owner. */
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
