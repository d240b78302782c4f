import type { LogDestination } from '../../src/log.ts'

export interface LogLine {
  level: number
  msg: string
  reqId?: string
  /** Present in a line of a request whose trace is recorded. */
  traceId?: string
  err?: Record<string, unknown>
  /** Present in a line that counts failures. */
  count?: number
  causes?: { message: string; code: string; statement?: string; count: number }[]
  requestIds?: string[]
  /** Present in a line about what is wrong. */
  reasons?: { code: string }[]
  /** Present in a line about a request. */
  status?: number
  operation?: string
  tokenId?: number
  errors?: { code: string; reason: string }[]
  /** Present in a line about dropped lines. */
  lines?: number
  /** Present in a line that counts requests. */
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
