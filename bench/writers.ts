/**
 * The cost of capture for the platform's writers: `npm run bench -- writers`. Compares the plain tables without and
 * with capture, on the embedded server, and on the packaged server if it is installed.
 */
import { type DatabaseServer, measureOnServers } from './harness/database-server.ts'
import { type Judged, judge } from './harness/goals.ts'
import { publish, readOptions } from './harness/options.ts'
import { describeRatios, describeRun, logProgress, median, ratios, table } from './harness/report.ts'
import { contenders, copyDatabase, createDatabase, writers } from './writers/databases.ts'
import { stopPublisher } from './writers/replication.ts'
import { type Figure, measureInTurns, type Workload, workloads } from './writers/workloads.ts'

const options = readOptions({
  rounds: 10,
  /** A regular expression: only the workloads whose names match. */
  only: '',
})
const chosen = workloads.filter(({ name }) => new RegExp(options.only).test(name))

/** @returns by workload and contender: the values of all figures in each round */
async function compete(server: DatabaseServer): Promise<Map<Workload, number[][][]>> {
  for (const name of contenders) await createDatabase(server, name)
  const outcome = new Map(chosen.map(workload => [workload, contenders.map((): number[][] => [])]))
  for (let round = 0; round < options.rounds; round++) {
    const copies = []
    for (const name of contenders) copies.push(await copyDatabase(server, name))
    for (const [workload, measured] of outcome) {
      for (const [index, figures] of (await measureInTurns(workload, copies, round)).entries())
        measured[index]!.push(figures)
    }
    for (const { sessions } of copies) await Promise.all(sessions.map(sql => sql.end()))
    logProgress(`PostgreSQL ${server.version}: round ${round + 1} of ${options.rounds}`)
  }
  return outcome
}

function describe(outcome: Map<Workload, number[][][]>): string {
  const judged: Judged[] = []
  const rows = [...outcome].flatMap(([{ name, figures }, measured]) =>
    Object.entries(figures).map(([figure, { unit, goal, isValue }]: [string, Figure], place) => {
      const [plain = [], captured = []] = measured.map(rounds => rounds.map(values => values[place]!))
      judged.push({ name: `${name}: ${figure}`, goal, values: isValue ? captured : ratios(captured, plain) })
      const shown = isValue ? median(captured).toFixed(0) : describeRatios(captured, plain)
      return [`${name}: ${figure}`, `${median(plain).toFixed(0)} ${unit}`, shown]
    }),
  )
  return `${table(['', ...contenders], rows)}\n\n${judge(judged)}`
}

// In PostgreSQL 15, a worker of a subscription starts 5 s after the last start of a worker of any subscription.
const settings = { wal_retrieve_retry_interval: '100ms' }
const results = await measureOnServers(
  { sharedBuffers: '512MB', settings },
  settings,
  async server => `${describeRun(server.version)}\n\n${describe(await compete(server))}`,
)
await stopPublisher()
const text = `${writers} writers, durable commits, ${options.rounds} rounds in turns. The figures of the plain tables without \
capture are medians; those with capture are ratios to them, of the same round: median (quartiles). WAL and failures are no \
ratios. The processor time is of the writers' backends, for a transaction. The packaged server has its defaults, except \`wal_retrieve_retry_interval\`.

${results}`
publish('Writers', text)
