import type { ClientCounts } from './clients.ts'
import type { Outcome } from './outcome.ts'
import type { StressOptions, StressReport } from './run.ts'

const missing = (outcomes: Outcome[]) => outcomes.reduce((total, outcome) => total + outcome.missing.length, 0)
const tooMuch = (outcomes: Outcome[]) => outcomes.reduce((total, outcome) => total + (outcome.tooMuch ?? 0), 0)

/** @returns how many records the clients lack, have in an old state, or have although they no longer exist */
export const wrongInClients = ({ clients }: StressReport): number => missing(clients) + tooMuch(clients)

/** Returns how many records came again unchanged, in per cent of the new ones. */
const repeats = ({ received, repeated }: ClientCounts) =>
  ((100 * repeated) / Math.max(1, received - repeated)).toFixed(1)

export function printReport(report: StressReport, options: StressOptions): void {
  const { counts, clients, lost, killedSteps, rejected, figures } = report
  const pairs = (numbers: object) => Object.entries(numbers).map(([name, count]) => `${name} ${count}`)
  console.log(`${pairs(options).join(', ')}\n${pairs(counts).join(', ')}`)
  console.table(
    clients.map(({ client, list, records, missing, tooMuch, counts }) => ({
      ...{ client, list, records, missing: missing.length, 'too much': tooMuch ?? '-' },
      ...(counts && { received: counts.received, 'again %': repeats(counts), passes: counts.passes }),
    })),
  )
  console.log(
    [
      `clients: ${missing(clients)} missing, ${tooMuch(clients)} too much`,
      `controls: changes that they passed over, by the kind of writer, and vouchers that came back: ${pairs(lost).join(', ')}`,
      `steps: ${killedSteps} killed`,
      `rows that v1 cannot show: ${rejected.length}`,
      ...rejected.map(({ record, key, reason }) => `  ${record} ${key}: ${reason}`),
      `figures: ${figures.checks} times compared with the records, ${figures.wrong} rows wrong`,
      ...clients.flatMap(({ client, list, examples }) => examples.map(example => `  ${client}, ${list}: ${example}`)),
    ].join('\n'),
  )
}
