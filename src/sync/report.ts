/** What a sync tells the person or the script that runs it. */
import { describeCount, listTitles, type TenantListName } from './lists.ts'

/** An event. With `--json` each is a line. */
export type SyncEvent =
  /** The sync begins; `resumed` when the copy has a checkpoint. */
  | { event: 'start'; url: string; to: string; resumed: boolean }
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
  /** All lists are read again from their beginning (docs/syncing.md). */
  | { event: 'full_pass'; reason: string }
  /** A tenant was dropped with its records: it was deleted, or the token is not authorised for it any more. */
  | { event: 'left'; tenant: number }
  /** The token lacks the permission for a list. */
  | { event: 'skipped'; list: TenantListName; message: string }
  /** A round is complete. */
  | { event: 'in_step'; server_time: string; tenants: number; received: number; removed: number; seconds: number }
  /** A round of a watch failed; the next one is tried. */
  | { event: 'failed'; message: string; request_id: string | null }
  /** The sync was stopped by a signal, at a checkpoint. */
  | { event: 'stopped' }
  /** The sync ends with this exit code. */
  | { event: 'error'; code: number; message: string; request_id: string | null }

/** Receives events. */
export type ReportEvent = (event: SyncEvent) => void

/** Where lines go. */
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
    if (isDue(event)) out(JSON.stringify(event).replace(controls, escapeUnits))
  }
}

const format = (count: number) => count.toLocaleString('en')

/** Returns an amount with its noun. */
const amount = (count: number, noun: string) => `${format(count)} ${noun}${count === 1 ? '' : 's'}`

/** Returns seconds as a person writes them, such as `1 h 5 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** How fast records of a list come, from the first event about the list in this run. */
export class Rate {
  private key = ''
  private since = 0
  private from = 0

  /** Returns records in a second, and the seconds that are left; null when that is not known yet. */
  of({
    tenant,
    list,
    received,
    total,
  }: SyncEvent & { event: 'progress' }): { rate: number; left: number | null } | null {
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
    const write = event.event === 'error' || event.event === 'failed' ? error : out
    write(sentenceOf(event, speed))
  }
}

/** Control characters, and those that change the direction of text: a terminal would obey them. */
const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

const escapeUnits = (text: string) =>
  text
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

/** Returns an event as a sentence, without control characters: parts of it come from the service. */
export const sentenceOf = (event: SyncEvent, speed: ReturnType<Rate['of']>): string =>
  textOf(event, speed).replace(controls, ' ')

function textOf(event: SyncEvent, speed: ReturnType<Rate['of']>): string {
  switch (event.event) {
    case 'start':
      return `${event.resumed ? 'Continues' : 'Begins'} the copy of ${event.url} in ${event.to}.`
    case 'progress': {
      const { tenant, list, via, received, total, done } = event
      if (done)
        return `Tenant ${tenant}: ${describeCount(received, list)} by ${via === 'export' ? 'bulk export' : 'pages'}.`
      const records =
        total === null
          ? `${describeCount(received, list)} so far`
          : `${format(received)} of ${describeCount(Math.max(total, received), list)}`
      const rate = speed ? `, ${format(Math.round(speed.rate))}/s` : ''
      const left = speed?.left == null ? '' : `, about ${formatSeconds(speed.left)} left`
      return `Tenant ${tenant}: ${records}${rate}${left}.`
    }
    case 'wait':
      return `Waits ${formatSeconds(event.seconds)} ${event.reason}.`
    case 'full_pass':
      return `Reads all lists again: ${event.reason}`
    case 'left':
      return `Tenant ${event.tenant} is deleted, or the token is not authorised for it any more: its records are dropped.`
    case 'skipped':
      return `Leaves out ${listTitles[event.list]}: ${event.message}`
    case 'in_step':
      return (
        `In step at ${event.server_time}: ${amount(event.tenants, 'tenant')}, ${amount(event.received, 'record')} ` +
        `received, ${amount(event.removed, 'removal')}, ${formatSeconds(event.seconds)}.`
      )
    case 'failed':
    case 'error':
      return event.request_id === null ? event.message : `${event.message} (request ${event.request_id})`
    case 'stopped':
      return 'Stopped at a checkpoint. The same command continues from there.'
  }
}
