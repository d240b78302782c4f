import type { LogDestination } from '../../src/log.ts'

/** A line of the log. */
export type LogLine = { level: number; msg: string; reqId?: string; err?: Record<string, unknown> }

/** Returns a destination for the service's log, and functions that return what it has written. */
export function collectLog() {
  let text = ''
  const log: LogDestination = {
    write(line) {
      text += line
    },
  }
  const lines = () =>
    text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as LogLine)
  return { log, text: () => text, lines }
}
