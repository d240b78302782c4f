/**
 * The cost of replication for a platform whose records are in another database: `npm run bench -- adoption`. Measures
 * the writers, with and without a subscription, on the packaged server; and the applier of the subscription, with and
 * without the triggers of capture.
 */
import { readFileSync } from 'node:fs'
import { readMappings } from '../src/db/mapping/mappings.ts'
import { migrate } from '../src/db/migration/migrate.ts'
import { removeStaging } from '../src/staging/remove.ts'
import { stagePlatform } from '../src/staging/stage.ts'
import { atEnd } from './harness/at-end.ts'
import { startPackagedServer } from './harness/database-server.ts'
import { checkGoals, type FigureWithGoal, type Goal, median, ratios } from './harness/goals.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { rotated } from './harness/rounds.ts'
import { type Copy, fillQuery, openCopy, writers } from './writers/databases.ts'
import { timeApplied } from './writers/replication.ts'
import { measureInTurns, workloads } from './writers/workloads.ts'

const options = readOptions({ rounds: 5 })

const folder = 'mappings/plain'
const tables = readFileSync('sql/plain-tables.sql', 'utf8')
/**
 * The databases of the platform: without a subscription, with a subscription into tables without capture, and with a
 * subscription into tables with capture.
 */
const contenders = ['plain', 'staged', 'captured'] as const
const chosenWorkloads = workloads.filter(({ name }) => /^(insert|update|delete) of one row$/.test(name))

const row = `insert into purchased_voucher (tenant_id, reference, current_balance) `
const oneRow = `${row} values (1, gen_random_uuid(), 50)`
const applied: { name: string; goal: Goal; write: string }[] = [
  {
    name: 'applied: 2,000 transactions',
    goal: '≤ 1.2',
    write: `do $$ begin for n in 1..2000 loop ${oneRow}; commit; end loop; end $$`,
  },
  {
    name: 'applied: a transaction of 100,000 rows',
    goal: '≤ 1.6',
    write: `${row} select 1, gen_random_uuid(), 50 from generate_series(1, 100000)`,
  },
]

const platform = await startPackagedServer({ wal_level: 'logical' })
const gateway = await startPackagedServer()

/**
 * Subscribes a new database to one of the platform.
 * @returns a connection to the new database, and a function that ends the subscription
 */
async function subscribe(name: string) {
  await gateway.create(name)
  const owner = gateway.open(name)
  const platformUrl = platform.url(name)
  await migrate(owner, { adopted: null })
  await stagePlatform(owner, folder, { platformUrl, lockWait: 60 })
  if (name === 'captured') await migrate(owner, { adopted: readMappings(folder) })
  return { owner, remove: atEnd(() => removeStaging(owner, platformUrl)) }
}

const measuredWorkloads = chosenWorkloads.map(workload => ({ workload, values: contenders.map((): number[] => []) }))
const times = applied.map(each => ({ ...each, values: contenders.map((): number[] => []) }))
for (let round = 0; round < options.rounds; round++) {
  const copies: Copy[] = []
  const targets: Awaited<ReturnType<typeof subscribe>>[] = []
  for (const name of contenders) {
    await platform.create(name)
    const copy = await openCopy(platform, name)
    await copy.sessions[0]!.unsafe(`${tables}; ${fillQuery}`).simple()
    copies.push(copy)
    if (name !== 'plain') targets.push(await subscribe(name))
  }
  for (const { workload, values } of measuredWorkloads) {
    for (const [index, [first = 0]] of (await measureInTurns(workload, copies, round)).entries())
      values[index]!.push(first)
  }
  const apply = (index: number, write: string) =>
    timeApplied(copies[index]!.sessions[0]!, targets[index - 1]!.owner, write)
  // First waits until the applier has applied the last changes of the writers.
  for (const index of [1, 2]) await apply(index, oneRow)
  for (const { write, values } of times) {
    for (const index of rotated([1, 2], round)) values[index]!.push(await apply(index, write))
  }
  for (const { owner, remove } of targets) {
    await remove()
    await owner.end()
  }
  for (const { close } of copies) await close()
  logProgress(`round ${round + 1} of ${options.rounds}`)
}
const figuresWithGoals: FigureWithGoal[] = [
  ...measuredWorkloads.flatMap(
    ({ workload: { name }, values: [plain = [], staged = [], captured = []] }): FigureWithGoal[] => {
      const base = `${median(plain).toFixed(0)} µs`
      return [
        [`${name}, with a subscription`, '≤ 1.1', ratios(staged, plain), base],
        [`${name}, also with capture`, '≤ 1.1', ratios(captured, plain), base],
      ]
    },
  ),
  ...times.map(({ name, goal, values: [, staged = [], captured = []] }): FigureWithGoal => {
    return [name, goal, ratios(captured, staged), `${median(staged).toFixed(0)} ms`]
  }),
]
const text = `${describeRun(platform.version)} ${options.rounds} rounds in turns; all servers share this machine.

The writers of the platform, ${writers} at once: the processor time of a transaction, as a ratio to a database without a
subscription. The applier, until a change is there: as a ratio to a subscription into tables without triggers.

${checkGoals(figuresWithGoals)}`
publish('Adoption', text)
