/** The events that a sync reports to the person or the script that runs it. */
import type { TenantListName } from '#client'

/** An event. With `--json` each is a line. */
export type SyncEvent =
  /** The sync begins; `resumed` when the copy has a checkpoint. */
  | { event: 'start'; url: string; to: string; resumed: boolean }
  /** The service of the copy has this address now. */
  | { event: 'moved'; from: string; url: string }
  /** Part of a list was read from its beginning; `total` is null when the service does not count the list. */
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
  /** All lists are read again from their beginning (docs/guides/keeping-in-step.md). */
  | { event: 'full_pass'; reason: string }
  /** A tenant was dropped with its records: it was deleted, or the token is not authorised for it any more. */
  | { event: 'left'; tenant: number }
  /** The token lacks the permission for a list. */
  | { event: 'skipped'; list: TenantListName; message: string }
  /** The service does not name the lists that changed: each round reads all lists. */
  | { event: 'no_changes'; message: string }
  /** A webhook of the token gets no events. */
  | { event: 'webhook'; url: string; state: 'failing' | 'paused'; since: string | null }
  /** A round is complete. */
  | { event: 'in_step'; server_time: string; tenants: number; received: number; removed: number; seconds: number }
  /** A dry run has found a list that a sync would read to its end; `count` leaves out what an earlier run has read. */
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
      /** Some of the ids of the records that differ. */
      examples: number[]
    }
  /** All lists match the service. */
  | { event: 'verified'; server_time: string; records: number; seconds: number }
  /** The source of a copy; `server_time` is the earliest bound of its lists. */
  | { event: 'copy'; url: string; to: string; tenants: number; server_time: string | null; age_seconds: number | null }
  /** The records that a copy holds of a list of a tenant, and their bound. */
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
  /** The sync was stopped by a signal, at a checkpoint. */
  | { event: 'stopped' }
  /** The sync ends with this exit code. */
  | { event: 'error'; code: number; message: string; request_id: string | null }

/**
 * The list is in step up to its bound; or is being read from its beginning; or is unchanged because the
 * permission is missing.
 */
export type ListStatus = 'in_step' | 'reading' | 'refused'

/** Returns whether an event goes to the standard error. */
export const isError = ({ event }: SyncEvent): boolean => event === 'error' || event === 'failed'
