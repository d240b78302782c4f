import { writeSync } from 'node:fs'
import type { LogDestination } from './log.ts'

/**
 * The maximum number of characters of log that wait to be written. Beyond this number, further lines are dropped and
 * counted.
 */
const maxWaiting = 1_000_000

/** The number of bytes that Linux writes to a pipe in one piece, so that lines of several processes do not mix. */
const pipeBuffer = 4096

/**
 * The time for which lines are collected for one write, in milliseconds. One system call per line would double the cost
 * of a line.
 */
const batchTime = 10

/** The interval at which a write is tried again while the destination has no room, in milliseconds. */
const retryInterval = 50

/** The maximum wait for the reader of the log when the process exits, in milliseconds. */
const exitTimeout = 1000

/**
 * Creates the destination of the log on the standard output. Lines that arrive within 10 ms are written together. When
 * a pipe or a disk is full, lines wait in memory. When more than a million characters wait, further lines are dropped,
 * and a later line reports the number of dropped lines. Waiting lines are written when the process exits.
 *
 * pino's own destination is not used, because its synchronous form blocks the process for 100 ms at each write to a
 * full pipe, and its asynchronous form can lose lines when the process exits.
 */
export function createLogDestination(): LogDestination {
  // Creates `process.stdout`, because Node then makes a pipe non-blocking. A blocking write would stop the process.
  const { fd } = process.stdout
  let lines: string[] = []
  let waiting = 0
  let dropped = 0
  /** The bytes that remain after a partial write. */
  let rest: Buffer | null = null
  let isScheduled = false

  /** Writes as many of the waiting lines as the destination accepts. @returns true when no line waits any more */
  function flush(): boolean {
    let next = 0
    try {
      while (rest !== null || next < lines.length) {
        if (rest === null) {
          let text = lines[next++]!
          while (next < lines.length && text.length + lines[next]!.length <= pipeBuffer) text += lines[next++]
          waiting -= text.length
          rest = Buffer.from(text)
        }
        const written = writeSync(fd, rest)
        rest = written < rest.length ? rest.subarray(written) : null
      }
    } catch {
      // EAGAIN means that the pipe is full. Any other error may also be temporary, such as a full disk or a reader that
      // is being replaced.
    }
    lines = next < lines.length ? lines.slice(next) : []
    if (rest === null && dropped > 0) {
      lines.push(droppedLine(dropped))
      waiting += lines[0]!.length
      dropped = 0
      return flush()
    }
    return rest === null
  }

  function flushOrRetry(): void {
    isScheduled = !flush()
    if (isScheduled) setTimeout(flushOrRetry, retryInterval).unref()
  }

  process.on('exit', () => {
    const end = Date.now() + exitTimeout
    while (!flush() && Date.now() < end) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
  })

  return {
    write(line) {
      // Waits when bytes remain, because the destination has no room then.
      if (waiting + line.length > maxWaiting && (rest !== null || !flush())) {
        dropped++
        return
      }
      lines.push(line)
      waiting += line.length
      if (isScheduled) return
      isScheduled = true
      setTimeout(flushOrRetry, batchTime).unref()
    },
  }
}

/** Returns a line of the log in pino's format. */
const droppedLine = (lines: number) =>
  `${JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, lines, msg: 'log lines were dropped: the destination had no room' })}\n`
