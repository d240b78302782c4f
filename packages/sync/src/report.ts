/** Prints the events of a sync as lines of JSON or as sentences. */
import { isError, type SyncEvent } from './event.ts'
import { createRateMeter, type ReadingRate } from './reading-rate.ts'
import { describeEvent, escapeControls } from './sentence.ts'

/** Receives events. */
export type ReportEvent = (event: SyncEvent) => void

/**
 * Creates a function that decides whether to report an event. The progress of a list is reported at most once per
 * interval, and when the list is complete. All other events are always reported.
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

/** Creates a function that prints each event as a line of JSON on the standard output. */
export function createJsonReport(): ReportEvent {
  const isDue = createThrottle(1_000)
  return event => {
    if (isDue(event)) console.log(escapeControls(JSON.stringify(event)))
  }
}

/** Reports errors only. */
export const onlyErrors =
  (report: ReportEvent): ReportEvent =>
  event => {
    if (isError(event)) report(event)
  }

/** Creates a function that prints events as sentences. Used when the output is not a terminal. */
export function createLineReport(): ReportEvent {
  const rateOf = createRateMeter()
  const isDue = createThrottle(5_000)
  return event => {
    const rate = event.event === 'progress' ? rateOf(event) : null
    if (isDue(event)) printSentence(event, rate)
  }
}

/** Prints an event as a sentence, on the standard output or the standard error. */
export function printSentence(event: SyncEvent, rate: ReadingRate | null): void {
  const print = isError(event) ? console.error : console.log
  print(describeEvent(event, rate))
}
