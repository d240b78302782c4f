import type { LogLine } from '../../support/log.ts'

export interface ProcessLogLine extends LogLine {
  pid: number
  /** The number of the worker that wrote it. */
  worker?: number
}

/** @returns the lines of a log that are complete: the last one may still be cut */
export const logLinesIn = (printed: string): ProcessLogLine[] =>
  printed
    .slice(0, printed.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as ProcessLogLine)
