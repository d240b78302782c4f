import type { LogDestination } from '../../src/log.ts'

export interface LogLine {
  level: number
  msg: string
  reqId?: string
  /** Only in a line of a request whose trace is recorded. */
  traceId?: string
  err?: Record<string, unknown>
  /** Only in a line that counts failures. */
  count?: number
  causes?: { message: string; code: string; statement?: string; count: number }[]
  requestIds?: string[]
  /** Only in a line about reasons of /readyz. */
  reasons?: { code: string }[]
  /** Only in a line about a request. */
  status?: number
  operation?: string
  tokenId?: number
  errors?: { code: string; reason: string }[]
  /** Only in a line about dropped lines. */
  lines?: number
  /** Only in a line that counts requests. */
  omitted?: number
  statuses?: Record<string, number>
}

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
