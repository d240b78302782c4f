/** The events that a sync reports to the person or the script that runs it. */
import type { TenantListName } from '#client'
import { escapeControls, sentenceOf } from './sentence.ts'

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
      /** Some of the ids that differ. */
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
  /** A round of a watch failed; the next one is tried. */
  | { event: 'failed'; message: string; request_id: string | null }
  /** The sync was stopped by a signal, at a checkpoint. */
  | { event: 'stopped' }
  /** The sync ends with this exit code. */
  | { event: 'error'; code: number; message: string; request_id: string | null }

/**
 * The list is in step up to its bound; or it is being read from its beginning; or it is unchanged because the
 * permission is missing.
 */
export type ListStatus = 'in_step' | 'reading' | 'refused'

/** Receives events. */
export type ReportEvent = (event: SyncEvent) => void

/** The destination of lines. */
export interface Output {
  out: (line: string) => void
  error: (line: string) => void
}

/** The least time between two lines about the progress of a list, in milliseconds. */
const progressInterval = { json: 1_000, sentences: 5_000 }

/** Returns whether an event is to be reported: some of the progress of a list, and all other events. */
function createThrottle(interval: number): (event: SyncEvent) => boolean {
  let reported = Number.NEGATIVE_INFINITY
  return event => {
    if (event.event !== 'progress') return true
    if (!event.done && performance.now() - reported < interval) return false
    reported = performance.now()
    return true
  }
}

/** Reports each event as a line of JSON on the standard output. */
export function createJsonReport({ out }: Output): ReportEvent {
  const isDue = createThrottle(progressInterval.json)
  return event => {
    if (isDue(event)) out(escapeControls(JSON.stringify(event)))
  }
}

/** Reports errors only. */
export const onlyErrors =
  (report: ReportEvent): ReportEvent =>
  event => {
    if (isError(event)) report(event)
  }

/** Returns whether an event goes to the standard error. */
export const isError = ({ event }: SyncEvent): boolean => event === 'error' || event === 'failed'

/** Records in a second, and the seconds that are left; null when the list is not counted. */
export interface Speed {
  rate: number
  left: number | null
}

/** The speed at which records of a list come, from the first event about the list in this run. */
export class Rate {
  private key = ''
  private since = 0
  private from = 0

  /** Returns records in a second, and the seconds that are left; null when that is not known yet. */
  of({ tenant, list, received, total }: SyncEvent & { event: 'progress' }): Speed | null {
    const key = `${tenant} ${list}`
    if (key !== this.key) {
      Object.assign(this, { key, since: performance.now(), from: received })
      return null
    }
    const seconds = (performance.now() - this.since) / 1000
    const rate = seconds > 0 ? (received - this.from) / seconds : 0
    if (rate === 0) return null
    return { rate, left: total === null ? null : Math.max(0, total - received) / rate }
  }
}

/** Reports events as sentences: the standard output of a program that is not on a terminal. */
export function createLineReport({ out, error }: Output): ReportEvent {
  const rates = new Rate()
  const isDue = createThrottle(progressInterval.sentences)
  return event => {
    const speed = event.event === 'progress' ? rates.of(event) : null
    if (!isDue(event)) return
    const write = isError(event) ? error : out
    write(sentenceOf(event, speed))
  }
}
