import type { StressOptions, StressReport } from './run.ts'

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

/** @returns how many records the clients lack, have in an old state, or have although they no longer exist */
export const wrongInClients = ({ clients }: StressReport): number =>
  sum(clients.map(({ missing, tooMuch }) => missing + tooMuch))

export function printReport(report: StressReport, options: StressOptions): void {
  const { counts, clients, lost, killedSteps, problems, figures } = report
  const pairs = (numbers: object) => Object.entries(numbers).map(([name, count]) => `${name} ${count}`)
  console.log(`${pairs(options).join(', ')}\n${pairs(counts).join(', ')}`)
  console.table(clients.map(({ examples, ...outcome }) => outcome))
  console.log(
    [
      `clients: ${sum(clients.map(({ missing }) => missing))} missing, ${sum(clients.map(({ tooMuch }) => tooMuch))} too much`,
      `control: ${lost} changes that it passed over`,
      `steps: ${killedSteps} killed`,
      `records that are not as their sources say: ${problems.length}`,
      ...problems.map(
        ({ record, reason, keys, firstKey }) => `  ${record}: ${keys} keys, such as ${firstKey}: ${reason}`,
      ),
      `figures: ${figures.checks} times compared with the records, ${figures.wrong} rows wrong`,
      ...clients.flatMap(({ client, list, examples }) => examples.map(example => `  ${client}, ${list}: ${example}`)),
    ].join('\n'),
  )
}
