import type { ClientCounts } from './clients.ts'
import type { Outcome } from './outcome.ts'
import type { StressOptions, StressReport } from './run.ts'

const missing = (outcomes: Outcome[]) => outcomes.reduce((total, outcome) => total + outcome.missing.length, 0)
const tooMuch = (outcomes: Outcome[]) => outcomes.reduce((total, outcome) => total + (outcome.tooMuch ?? 0), 0)

/** @returns how many records the clients lack, have in an old state, or have although they no longer exist */
export const wrongInClients = ({ clients }: StressReport): number => missing(clients) + tooMuch(clients)

/** Returns how many changes the controls have lost, of each kind; none may be 0: a check that cannot fail proves nothing. */
export const wrongInControls = ({ lost, lostByRemovals }: StressReport) => ({
  ...lost,
  removals: lostByRemovals,
})

/** Returns how many records came again unchanged, in per cent of the new ones. */
const repeats = ({ received, repeated }: ClientCounts) =>
  ((100 * repeated) / Math.max(1, received - repeated)).toFixed(1)

/** Returns the report as text. */
export function formatReport(report: StressReport, options: StressOptions): string {
  const { counts, clients, control, removalsControl, lost, lostByRemovals, figures } = report
  const head = ['client', 'list', 'records', 'MISSING', 'TOO MUCH', 'received', 'again %', 'passes']
  const rows = [...clients, ...control, ...removalsControl].map(outcome => [
    outcome.client,
    outcome.list,
    String(outcome.records),
    String(outcome.missing.length),
    outcome.tooMuch === null ? '-' : String(outcome.tooMuch),
    ...(outcome.counts ? [`${outcome.counts.received}`, repeats(outcome.counts), `${outcome.counts.passes}`] : []),
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  const did = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return [
    `${options.seconds} s, ${options.writers} writers, ${options.clients} clients, ` +
      `transactions up to ${options.longest} s, seed ${options.seed}`,
    did.join(', '),
    '',
    line(head),
    ...rows.map(line),
    '',
    `clients: ${missing(clients)} missing, ${tooMuch(clients)} too much`,
    `control of the stamps: changes that it passed over, by the kind of writer: ` +
      Object.entries(lost)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', '),
    `control of the removals: vouchers that came back and were lost: ${lostByRemovals}`,
    `figures: ${figures.checks} times compared with the records, ${figures.wrong} rows wrong`,
    ...clients.flatMap(({ client, list, examples }) => examples.map(example => `  ${client}, ${list}: ${example}`)),
  ].join('\n')
}
