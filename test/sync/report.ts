import type { Lag } from './lag.ts'
import type { Outcome, StressOptions, StressReport } from './run.ts'

const sum = (outcomes: Outcome[]) => outcomes.reduce((total, { lost }) => total + lost, 0)

/** @returns how many records the service's clients lack or have as they no longer are */
export const lostByClients = ({ clients }: StressReport): number => sum(clients)

/** @returns the same of the control, which must not be none */
export const lostByControl = ({ control }: StressReport): number => sum(control)

/** Received again though the copy had it just so, in per cent of what was new. */
const repeats = ({ received, repeated }: Outcome) => ((100 * repeated) / Math.max(1, received - repeated)).toFixed(1)

const milliseconds = ({ p50, max, count }: Lag) => `p50 ${p50.toFixed(1)} ms, max ${max.toFixed(1)} ms (${count} looks)`

/** Says what came of it, as a table for people. */
export function formatReport(report: StressReport, options: StressOptions): string {
  const { counts, clients, control, lag, lagBesideLong } = report
  const head = ['list', 'door', 'resumes from', 'records', 'LOST', 'received', 'again %', 'passes']
  const rows = [...clients, ...control].map(outcome => [
    outcome.list,
    outcome.door,
    outcome.resumption,
    String(outcome.records),
    String(outcome.lost),
    String(outcome.received),
    repeats(outcome),
    String(outcome.passes),
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => (column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  const did = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return [
    `${options.seconds} s, ${options.writers} writers, transactions up to ${options.longest} s, seed ${options.seed}`,
    did.join(', '),
    '',
    line(head),
    ...rows.map(line),
    '',
    `lag among all writers, of whom those hold it who prepare, or set constraints immediate: ${milliseconds(lag)}`,
    ...(lagBesideLong ? [`lag beside a transaction of ${options.hold} s: ${milliseconds(lagBesideLong)}`] : []),
    `lost by the clients: ${lostByClients(report)}; by the control: ${lostByControl(report)}`,
    ...clients.flatMap(({ list, door, resumption, examples }) =>
      examples.map(example => `  ${list} ${door} ${resumption}: ${example}`),
    ),
  ].join('\n')
}
