import type { Outcome } from './outcome.ts'
import type { StressReport } from './run.ts'

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

/** @returns how many records the clients lack, have in an old state, or have although they no longer exist */
export const wrongInClients = (clients: Outcome[]): number =>
  sum(clients.map(({ missing, tooMuch }) => missing + tooMuch))

const pairs = (numbers: object) =>
  Object.entries(numbers)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')

/** What a stress test of any platform reports. */
type Result = Pick<StressReport, 'counts' | 'clients' | 'problems' | 'figures'>

/** @param more lines of this kind of run alone */
export function printReport({ counts, clients, problems, figures }: Result, options: object, more: string[]): void {
  console.log(`${pairs(options)}\n${pairs(counts)}`)
  console.table(clients.map(({ examples, ...outcome }) => outcome))
  console.log(
    [
      `clients: ${sum(clients.map(({ missing }) => missing))} missing, ${sum(clients.map(({ tooMuch }) => tooMuch))} too much`,
      ...more,
      `records that are not as their sources say: ${problems.length}`,
      ...problems.map(
        ({ record, reason, keys, firstKeys }) => `  ${record}: ${keys} keys, such as ${firstKeys}: ${reason}`,
      ),
      `figures: ${figures.checks} times compared with the records, ${figures.wrong} rows wrong`,
      ...clients.flatMap(({ client, list, examples }) => examples.map(example => `  ${client}, ${list}: ${example}`)),
    ].join('\n'),
  )
}
