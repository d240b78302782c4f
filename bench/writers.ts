/**
 * The cost of capture for the platform's writers: `npm run bench -- writers`. Compares the plain tables without and
 * with capture, on the embedded server, and on the packaged server if it is installed.
 */
import { type DatabaseServer, measureOnServers } from './harness/database-server.ts'
import { checkGoals, type FigureWithGoal, median, ratios } from './harness/goals.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { contenders, copyDatabase, createDatabase, writers } from './writers/databases.ts'
import { measureInTurns, workloads } from './writers/workloads.ts'

const options = readOptions({
  rounds: 10,
  /** A regular expression. Only the workloads whose names match are measured. */
  only: '',
})
const chosen = workloads.filter(({ name }) => new RegExp(options.only).test(name))

async function measure(server: DatabaseServer): Promise<string> {
  for (const name of contenders) await createDatabase(server, name)
  const measured = chosen.map(workload => ({ workload, values: contenders.map((): number[][] => []) }))
  for (let round = 0; round < options.rounds; round++) {
    const copies = []
    for (const name of contenders) copies.push(await copyDatabase(server, name))
    for (const { workload, values } of measured) {
      for (const [index, figures] of (await measureInTurns(workload, copies, round)).entries())
        values[index]!.push(figures)
    }
    for (const { close } of copies) await close()
    logProgress(`PostgreSQL ${server.version}: round ${round + 1} of ${options.rounds}`)
  }
  const figuresWithGoals = measured.flatMap(({ workload: { name, figures }, values }) =>
    Object.entries(figures).map(([figure, { unit, goal, isValue }], place): FigureWithGoal => {
      const [plain = [], captured = []] = values.map(rounds => rounds.map(each => each[place]!))
      const base = `${median(plain).toFixed(0)} ${unit}`
      return [`${name}: ${figure}`, goal, isValue ? captured : ratios(captured, plain), base]
    }),
  )
  return `${describeRun(server.version)}\n\n${checkGoals(figuresWithGoals)}`
}

// In PostgreSQL 15, a worker of a subscription starts 5 s after the last start of a worker of any subscription.
const settings = { wal_retrieve_retry_interval: '100ms' }
const results = await measureOnServers({ shared_buffers: '512MB', ...settings }, settings, measure)
const text = `${writers} writers, durable commits, ${options.rounds} rounds in turns. The base is the median of the plain tables without \
capture. The figures with capture are ratios to it, of the same round, except WAL and failures. The processor time is of the \
writers' backends, for a transaction. The packaged server has its defaults, except \`wal_retrieve_retry_interval\`.

${results}`
publish('Writers', text)
