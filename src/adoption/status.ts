/** What steps have made of the mappings. */
import type { Sql } from '../db/sql.ts'

/** The state of a type of records. */
export interface RecordState {
  record: string
  records: number
  rejected: number
  /** Why all its keys are evaluated, or why steps do not follow its mapping; null: they follow each change. */
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

/** How far a subscription follows a platform on another server, at the last look of a service. */
export interface ReplicationState {
  /** The bytes of the platform's log that are not applied. */
  behind: number
  /** The share of `max_slot_wal_keep_size` that is left; null: the platform keeps all of its log for the slot. */
  log_left: number | null
}

/** Reads the state of the subscription; null when there is none, or no service has looked. */
export async function readReplication(sql: Sql): Promise<ReplicationState | null> {
  const [state] = await sql<ReplicationState[]>`
    select /* adoption.read_replication */ behind, log_left from gateway.subscription where behind is not null`
  return state ?? null
}
