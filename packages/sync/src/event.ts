/** The events that a sync reports to the person or the script that runs it. */
import type { TenantListName } from '#client'

/** An event. With `--json`, each event is printed as one line. */
export type SyncEvent =
  /** The sync begins; `resumed` is true when the copy already has a checkpoint. */
  | { event: 'start'; url: string; to: string; resumed: boolean }
  /** The service of the copy has moved from the address `from` to the address `url`. */
  | { event: 'moved'; from: string; url: string }
  /**
   * A part of a list that is read from its beginning was stored; `total` is null when the number of records is unknown.
   */
  | {
      event: 'progress'
      tenant: number
      list: TenantListName
      via: 'export' | 'pages'
      received: number
      total: number | null
      done: boolean
    }
  /** The sync waits. */
  | { event: 'wait'; seconds: number; reason: string }
  /** The sync begins to read all lists again from their beginning (docs/guides/keeping-in-step.md). */
  | { event: 'full_pass'; reason: string }
  /**
   * A tenant was deleted from the copy with its records, because the service has deleted the tenant or the token may no
   * longer read it.
   */
  | { event: 'left'; tenant: number }
  /** The sync skips a list, because the token lacks the permission. */
  | { event: 'skipped'; list: TenantListName; message: string }
  /** The service cannot say which lists have changed, so each round reads all lists. */
  | { event: 'no_changes'; message: string }
  /** A webhook of the token receives no events. */
  | { event: 'webhook'; url: string; state: 'failing' | 'paused'; since: string | null }
  /** A round is complete. */
  | { event: 'in_step'; server_time: string; tenants: number; received: number; removed: number; seconds: number }
  /**
   * A dry run has found a list that a sync would read to its end. `count` does not include the records that an earlier
   * run has read.
   */
  | { event: 'would_read'; tenant: number; list: TenantListName; count: number }
  /** A dry run is complete. */
  | { event: 'dry_run'; tenants: number; received: number; removed: number }
  /** A list of a tenant was compared with the service. */
  | {
      event: 'compared'
      tenant: number
      list: TenantListName
      service: number
      copy: number
      missing: number
      extra: number
      different: number
      /** The ids of some records that differ, as examples. */
      examples: number[]
    }
  /** All lists match the service. */
  | { event: 'verified'; server_time: string; records: number; seconds: number }
  /** The service and the place of a copy; `server_time` is the earliest bound of the copy's lists. */
  | { event: 'copy'; url: string; to: string; tenants: number; server_time: string | null; age_seconds: number | null }
  /**
   * The number of records of one list of one tenant in the copy, and the time up to which this list has all changes.
   */
  | {
      event: 'list'
      tenant: number
      list: TenantListName
      records: number
      state: ListStatus
      server_time: string | null
    }
  /** A round of a watch failed; the watch continues with the next round. */
  | { event: 'failed'; message: string; request_id: string | null }
  /** A signal stopped the sync at a checkpoint. */
  | { event: 'stopped' }
  /** The sync ends with this exit code. */
  | { event: 'error'; code: number; message: string; request_id: string | null }

/**
 * `in_step`: the list is in step up to its bound. `reading`: the list is being read from its beginning. `refused`: the
 * list stays unchanged, because the token lacks the permission.
 */
export type ListStatus = 'in_step' | 'reading' | 'refused'

/** Returns whether an event is printed on the standard error. */
export const isError = ({ event }: SyncEvent): boolean => event === 'error' || event === 'failed'
