import type { LogDestination } from '../../src/log.ts'

/** A line of the log, as an operator reads it. */
export type LogLine = { level: number; msg: string; reqId?: string; err?: Record<string, unknown> }

/** @returns a destination to give to the service, and what the service has written there so far */
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
