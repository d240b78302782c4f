/**
 * Reports the events of a sync on a terminal as sentences, with a progress bar below while a list is read from its
 * beginning.
 */
import { Presets, SingleBar } from 'cli-progress'
import { listTitle } from './lists.ts'
import { createRateMeter } from './reading-rate.ts'
import { printSentence, type ReportEvent } from './report.ts'
import { formatSeconds } from './sentence.ts'

/** Creates a function that prints events, and redraws the progress bar. */
export function createTerminalReport(): ReportEvent {
  const rateOf = createRateMeter()
  let bar: SingleBar | null = null
  return event => {
    const rate = event.event === 'progress' ? rateOf(event) : null
    if (event.event !== 'progress' || event.done) {
      bar?.stop()
      bar = null
      printSentence(event, rate)
      return
    }
    // The number of records is unknown until the first page is stored.
    if (event.total === null) return
    const payload = {
      what: `tenant ${event.tenant}, ${listTitle(event.list)}`,
      rate: rate ? Math.round(rate.recordsPerSecond).toLocaleString('en') : '–',
      left: rate?.secondsLeft == null ? 'time left unknown' : `${formatSeconds(rate.secondsLeft)} left`,
    }
    const total = Math.max(event.total, event.received)
    if (!bar) {
      bar = new SingleBar(
        {
          stream: process.stderr,
          // A text that is longer than the line would be cut, so the bar comes last and takes only the width that is
          // left.
          format: '{what} {percentage}% | {value}/{total} | {rate}/s | {left} {bar}',
          barsize: Math.max(0, Math.min(40, (process.stderr.columns || 80) - 70)),
          clearOnComplete: true,
          hideCursor: true,
          // The bar does not handle signals. After a signal the sync stops at a checkpoint, and then removes the bar.
          gracefulExit: false,
        },
        Presets.shades_classic,
      )
      bar.start(total, event.received, payload)
    }
    bar.setTotal(total)
    bar.update(event.received, payload)
  }
}
