import type { LogLine } from '../../support/log.ts'

export interface ProcessLogLine extends LogLine {
  pid: number
  /** The number of the worker that wrote the line. */
  worker?: number
}

/** Returns the complete lines of a log. The last line may be incomplete and is then left out. */
export const logLinesIn = (printed: string): ProcessLogLine[] =>
  printed
    .slice(0, printed.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as ProcessLogLine)
