/** Converts the events of a sync to sentences. */
import type { SyncEvent } from './event.ts'
import { describeCount, listTitle } from './lists.ts'
import type { ReadingRate } from './reading-rate.ts'

/**
 * Matches control characters, and characters that change the direction of text, because a terminal would execute them.
 */
const controlCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** Escapes control characters, and characters that change the direction of text, in a text of JSON. */
export const escapeControls = (json: string): string => json.replace(controlCharacters, escapeUnits)

/** Escapes the characters that some readers treat as the end of a line. JSON itself escapes the other line ends. */
export const escapeLineEnds = (json: string): string => json.replace(/[\u0085\u2028\u2029]/g, escapeUnits)

const escapeUnits = (text: string) =>
  text
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

const formatCount = (count: number) => count.toLocaleString('en')

/** Returns a count with its noun. */
const formatWithNoun = (count: number, noun: string) => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

/** Returns a duration in seconds as text, such as `1 h 5 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Returns an event as a sentence, without control characters, because the service supplies parts of the text. */
export const describeEvent = (event: SyncEvent, rate: ReadingRate | null): string =>
  textOf(event, rate).replace(controlCharacters, ' ')

function textOf(event: SyncEvent, rate: ReadingRate | null): string {
  switch (event.event) {
    case 'start':
      return `${event.resumed ? 'Continues' : 'Begins'} the copy of ${event.url} in ${event.to}.`
    case 'moved':
      return `The service of the copy has moved from ${event.from} to ${event.url}.`
    case 'progress': {
      const { tenant, list, via, received, total, done } = event
      if (done)
        return `Tenant ${tenant}: ${describeCount(received, list)} by ${via === 'export' ? 'bulk export' : 'pages'}.`
      const records =
        total === null
          ? `${describeCount(received, list)} so far`
          : `${formatCount(received)} of ${describeCount(Math.max(total, received), list)}`
      const speed = rate ? `, ${formatCount(Math.round(rate.recordsPerSecond))}/s` : ''
      const left = rate?.secondsLeft == null ? '' : `, about ${formatSeconds(rate.secondsLeft)} left`
      return `Tenant ${tenant}: ${records}${speed}${left}.`
    }
    case 'wait':
      return `Waits ${formatSeconds(event.seconds)} ${event.reason}.`
    case 'full_pass':
      return `Reads all lists again: ${event.reason}`
    case 'left':
      return `Tenant ${event.tenant} is deleted, or the token is not authorised for it any more: its records are dropped.`
    case 'skipped':
      return `Leaves out ${listTitle(event.list)}: ${event.message}`
    case 'no_changes':
      return `Reads all lists in each round, because the service does not name the lists that changed: ${event.message}`
    case 'webhook':
      return event.state === 'failing'
        ? `The webhook ${event.url} fails since ${event.since}: its events are repeated. Look at the log of the receiver.`
        : `The webhook ${event.url} is paused since ${event.since}: ask an administrator of the service to resume it.`
    case 'in_step':
      return (
        `In step at ${event.server_time}: ${formatWithNoun(event.tenants, 'tenant')}, ${formatWithNoun(event.received, 'record')} ` +
        `received, ${formatWithNoun(event.removed, 'removal')}, ${formatSeconds(event.seconds)}.`
      )
    case 'would_read':
      return `Tenant ${event.tenant}: would read ${describeCount(event.count, event.list)}, to the end of the list.`
    case 'dry_run':
      return (
        `A sync would receive ${formatWithNoun(event.received, 'record')} of ${formatWithNoun(event.tenants, 'tenant')} and apply ` +
        `${formatWithNoun(event.removed, 'removal')}. Nothing was written.`
      )
    case 'compared':
      return describeComparison(event)
    case 'verified':
      return (
        `The copy holds what the service holds at ${event.server_time}: ${formatWithNoun(event.records, 'record')} compared, ` +
        `${formatSeconds(event.seconds)}.`
      )
    case 'copy': {
      const { url, to, tenants, server_time: time, age_seconds: age } = event
      const position = time === null ? 'not yet in step' : `in step up to ${time}, ${formatSeconds(age ?? 0)} ago`
      return `A copy of ${url} in ${to}: ${formatWithNoun(tenants, 'tenant')}, ${position}.`
    }
    case 'list': {
      const { tenant, list, records, state, server_time: time } = event
      return `Tenant ${tenant}: ${describeCount(records, list)}, ${state === 'in_step' ? `in step up to ${time}` : statusTexts[state]}.`
    }
    case 'failed':
    case 'error':
      return event.request_id === null ? event.message : `${event.message} (request ${event.request_id})`
    case 'stopped':
      return 'Stopped at a checkpoint. The same command continues from there.'
  }
}

const statusTexts = { reading: 'not yet in step', refused: 'kept as they were: the token lacks the permission' }

/** Returns the result of the comparison of one list as a sentence. */
export function describeComparison(event: SyncEvent & { event: 'compared' }): string {
  const { tenant, list, service, copy, missing, extra, different, examples } = event
  if (missing + extra + different === 0) return `Tenant ${tenant}: ${describeCount(copy, list)}, as in the service.`
  return (
    `Tenant ${tenant}: ${describeCount(service, list)} in the service, ${formatCount(copy)} in the copy: ${formatCount(missing)} missing, ` +
    `${formatCount(extra)} too many, ${formatCount(different)} different (such as ${examples.join(', ')}).`
  )
}
