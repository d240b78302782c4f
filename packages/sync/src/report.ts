/** Reports events: as lines of JSON, or as sentences. */
import { isError, type SyncEvent } from './event.ts'
import { RateMeter } from './reading-rate.ts'
import { escapeControls, sentenceOf } from './sentence.ts'

/** Receives events. */
export type ReportEvent = (event: SyncEvent) => void

/** The destination of lines. */
export interface Output {
  out: (line: string) => void
  error: (line: string) => void
}

/** The minimum time between two lines about the progress of a list, in milliseconds. */
const progressInterval = { json: 1_000, sentences: 5_000 }

/**
 * Returns a function that decides whether to report an event: progress of a list at most once per interval and when the list is
 * done; every other event always.
 *
 * @param interval in milliseconds
 */
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

/** Reports events as sentences: the standard output of a program that is not on a terminal. */
export function createLineReport({ out, error }: Output): ReportEvent {
  const meter = new RateMeter()
  const isDue = createThrottle(progressInterval.sentences)
  return event => {
    const rate = event.event === 'progress' ? meter.of(event) : null
    if (!isDue(event)) return
    const write = isError(event) ? error : out
    write(sentenceOf(event, rate))
  }
}
