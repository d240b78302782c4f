import { kindOf, kinds } from './changes.ts'
import type { ClientCounts } from './clients.ts'
import type { Lag } from './lag.ts'
import type { Outcome } from './outcome.ts'
import type { StressOptions, StressReport } from './run.ts'

const missing = (outcomes: Outcome[]) => outcomes.reduce((total, outcome) => total + outcome.missing.length, 0)
const tooMuch = (outcomes: Outcome[]) => outcomes.reduce((total, outcome) => total + (outcome.tooMuch ?? 0), 0)

/** @returns how many records the clients lack, have in an old state, or have although they no longer exist */
export const wrongInClients = ({ clients }: StressReport): number => missing(clients) + tooMuch(clients)

/** @returns the same for each control; none may be 0, because a check that cannot fail proves nothing */
export const wrongInControls = ({ control, removalsControl }: StressReport) => ({
  stamps: missing(control),
  removals: missing(removalsControl) + tooMuch(removalsControl),
})

/** @returns how many vouchers the control of the stamps lacks, by the kind of writer that wrote them last */
export function lostByKind({ control }: StressReport) {
  const marks = control.flatMap(outcome => outcome.missing.map(({ mark }) => kindOf(mark)))
  return kinds.map(kind => ({ kind, lost: marks.filter(mark => mark === kind).length }))
}

/** Returns how many records came again unchanged, in per cent of the new ones. */
const repeats = ({ received, repeated }: ClientCounts) =>
  ((100 * repeated) / Math.max(1, received - repeated)).toFixed(1)

const lagText = ({ p50, max, count }: Lag) => `p50 ${p50.toFixed(1)} ms, max ${max.toFixed(1)} ms (${count} looks)`

function bulkText({ lagBesideBulk: bulk }: StressReport): string[] {
  if (!bulk) return []
  const milliseconds = (time: number) => `${time.toFixed(0)} ms`
  return [
    `lag beside a transaction of ${bulk.rows} rows of another tenant: ${lagText(bulk.watermark)}`,
    `  server_time of pages as they arrive: ${lagText(bulk.pages)}`,
    `  it wrote for ${milliseconds(bulk.writing)}, its commit took ${milliseconds(bulk.committing)}, and its rows ` +
      `were listed ${milliseconds(bulk.listing)} after that`,
  ]
}

/** Returns the report as text. */
export function formatReport(report: StressReport, options: StressOptions): string {
  const { counts, clients, control, removalsControl, lag, lagBesideLong, figures } = report
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
  const controls = wrongInControls(report)
  return [
    `${options.seconds} s, ${options.writers} writers, ${options.clients} clients, ` +
      `transactions up to ${options.longest} s, seed ${options.seed}`,
    did.join(', '),
    '',
    line(head),
    ...rows.map(line),
    '',
    `lag among all writers, with prepared transactions and immediate constraints, which hold the watermark: ${lagText(lag)}`,
    ...(lagBesideLong ? [`lag beside a transaction of ${options.hold} s: ${lagText(lagBesideLong)}`] : []),
    ...bulkText(report),
    `clients: ${missing(clients)} missing, ${tooMuch(clients)} too much`,
    `control of the stamps: ${controls.stamps} missing, by the kind of writer: ` +
      lostByKind(report)
        .map(({ kind, lost }) => `${kind} ${lost}`)
        .join(', '),
    `control of the removals: ${missing(removalsControl)} missing, ${tooMuch(removalsControl)} too much`,
    `figures: ${figures.checks} times compared with the records, ${figures.wrong} rows wrong`,
    ...clients.flatMap(({ client, list, examples }) => examples.map(example => `  ${client}, ${list}: ${example}`)),
  ].join('\n')
}
