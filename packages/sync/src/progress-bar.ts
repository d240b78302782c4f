/** Reports on a terminal: sentences, and a bar below them while a list is read from its beginning. */
import { Presets, SingleBar } from 'cli-progress'
import { listTitle } from './lists.ts'
import { createRateMeter } from './reading-rate.ts'
import { printSentence, type ReportEvent } from './report.ts'
import { formatSeconds } from './sentence.ts'

/** Creates the report of a terminal. */
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
    // The first page, before the list is counted.
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
          // A terminal cuts a text that is longer than its line. So the bar comes last, with the width that the words
          // leave.
          format: '{what} {percentage}% | {value}/{total} | {rate}/s | {left} {bar}',
          barsize: Math.max(0, Math.min(40, (process.stderr.columns || 80) - 70)),
          clearOnComplete: true,
          hideCursor: true,
          // A signal stops the sync at a checkpoint, and then the bar.
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
