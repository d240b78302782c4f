/** Reports on a terminal: sentences, and a bar below them while a list is read from its beginning. */
import { Presets, SingleBar } from 'cli-progress'
import { isError } from './event.ts'
import { listTitle } from './lists.ts'
import { RateMeter } from './reading-rate.ts'
import type { Output, ReportEvent } from './report.ts'
import { formatSeconds, sentenceOf } from './sentence.ts'

/**
 * Creates the report of a terminal.
 *
 * @param stream where the bar is drawn
 */
export function createTerminalReport(
  { out, error }: Output,
  stream: NodeJS.WritableStream & { columns?: number } = process.stderr,
): ReportEvent {
  const meter = new RateMeter()
  let bar: SingleBar | null = null
  const stopBar = () => {
    bar?.stop()
    bar = null
  }
  return event => {
    if (event.event !== 'progress') {
      stopBar()
      const write = isError(event) ? error : out
      write(sentenceOf(event, null))
      return
    }
    const rate = meter.of(event)
    if (event.done) {
      stopBar()
      out(sentenceOf(event, rate))
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
          stream,
          // A terminal cuts a text that is longer than its line. So the bar comes last, with the width that the words
          // leave.
          format: '{what} {percentage}% | {value}/{total} | {rate}/s | {left} {bar}',
          barsize: Math.max(0, Math.min(40, (stream.columns ?? 80) - 70)),
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
