/**
 * The cost of replication for a platform whose records are in another database: `npm run bench -- adoption`. Measures the writers, with and without a
 * subscription, on the packaged server; and the applier of the subscription, with and without the triggers of capture.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressUrl } from '../src/db/connection/connect.ts'
import { readMappings } from '../src/db/mapping/mappings.ts'
import { migrate } from '../src/db/migration/migrate.ts'
import type { Pool } from '../src/db/sql.ts'
import { removeStaging } from '../src/staging/remove.ts'
import { stagePlatform } from '../src/staging/stage.ts'
import { type DatabaseServer, startPackagedServer } from './harness/database-server.ts'
import { type Goal, judge } from './harness/goals.ts'
import { publish, readOptions } from './harness/options.ts'
import { describeRatios, describeRun, logProgress, median, ratios, table } from './harness/report.ts'
import { rotated } from './harness/rounds.ts'
import { type Copy, openCopy, plainRows, writers } from './writers/databases.ts'
import { measureInTurns, workloads } from './writers/workloads.ts'

const options = readOptions({ rounds: 5 })

const folder = 'mappings/plain'
const tables = readFileSync('sql/plain-tables.sql', 'utf8')
/**
 * The databases of the platform: without a subscription, with a subscription into tables without capture, and with a
 * subscription into tables with capture.
 */
const contenders = ['plain', 'staged', 'captured'] as const
const chosen = workloads.filter(({ name }) =>
  /^((insert|update|delete) of one row|(insert|update) of 20,000 rows)$/.test(name),
)

/** Creates a database of the platform. @returns the sessions of its writers */
async function createPlatform(server: DatabaseServer, name: string): Promise<Copy> {
  await server.create(name)
  const copy = await openCopy(server, name)
  await copy.sessions[0]!.unsafe(`${tables}; ${plainRows}`).simple()
  return copy
}

/** Subscribes a new database to one of the platform. @returns a connection to it */
async function subscribe(gateway: DatabaseServer, name: string, platformUrl: string): Promise<Pool> {
  await gateway.create(name)
  const owner = gateway.open(name)
  await migrate(owner, { adopted: null })
  await stagePlatform(owner, folder, { platformUrl, lockWait: 60 })
  if (name === 'captured') await migrate(owner, { adopted: readMappings(folder) })
  return owner
}

/** @returns the milliseconds until a subscription has applied the written rows */
async function timeApplied(source: Pool, target: Pool, write: string): Promise<number> {
  const start = performance.now()
  await source.unsafe(write).simple()
  const [last] = await source`select max(id) as id from purchased_voucher`
  while ((await target`select from purchased_voucher where id = ${last?.id}`).count === 0) await sleep(2)
  return performance.now() - start
}

const row = `insert into purchased_voucher (tenant_id, reference, current_balance) `
const applied: Record<string, { goal: Goal; write: string }> = {
  '2,000 transactions': {
    goal: '≤ 1.2',
    write: `do $$ begin for n in 1..2000 loop ${row} values (1, gen_random_uuid(), 50); commit; end loop; end $$`,
  },
  'a transaction of 100,000 rows': {
    goal: '≤ 1.6',
    write: `${row} select 1, gen_random_uuid(), 50 from generate_series(1, 100000)`,
  },
}

const platform = await startPackagedServer({ wal_level: 'logical' })
const gateway = await startPackagedServer()
const owners: [Pool, string][] = []
try {
  const measured = new Map(chosen.map(workload => [workload, contenders.map((): number[] => [])]))
  const times = new Map(Object.keys(applied).map(name => [name, contenders.map((): number[] => [])]))
  for (let round = 0; round < options.rounds; round++) {
    const copies: Copy[] = []
    const targets: (Pool | undefined)[] = []
    for (const name of contenders) {
      copies.push(await createPlatform(platform, name))
      const url = addressUrl(platform.address(name))
      const owner = name === 'plain' ? undefined : await subscribe(gateway, name, url)
      targets.push(owner)
      if (owner) owners.push([owner, url])
    }
    for (const [workload, values] of measured) {
      for (const [index, [first = 0]] of (await measureInTurns(workload, copies, round)).entries())
        values[index]!.push(first)
    }
    // First waits until the applier has applied the last changes of the writers.
    for (const index of [1, 2]) {
      await timeApplied(copies[index]!.sessions[0]!, targets[index]!, `${row} values (1, gen_random_uuid(), 50)`)
    }
    for (const [name, values] of times) {
      for (const index of rotated([1, 2], round)) {
        values[index]!.push(await timeApplied(copies[index]!.sessions[0]!, targets[index]!, applied[name]!.write))
      }
    }
    for (const [owner, url] of owners.splice(0)) {
      await removeStaging(owner, url)
      await owner.end()
    }
    for (const { sessions } of copies) await Promise.all(sessions.map(sql => sql.end()))
    logProgress(`round ${round + 1} of ${options.rounds}`)
  }
  const writing = [...measured].map(([{ name, figures }, [plain = [], staged = [], captured = []]]) => [
    `${name}: ${Object.keys(figures)[0]}`,
    `${median(plain).toFixed(0)} ${Object.values(figures)[0]?.unit}`,
    describeRatios(staged, plain),
    describeRatios(captured, plain),
  ])
  const judged = [
    ...[...measured].flatMap(([{ name }, [plain = [], , captured = []]]) =>
      name.includes('one row') ? [{ name, goal: '≤ 1.1' as const, values: ratios(captured, plain) }] : [],
    ),
    ...[...times].map(([name, [, staged = [], captured = []]]) => ({
      ...{ name: `applied: ${name}`, goal: applied[name]!.goal, values: ratios(captured, staged) },
    })),
  ]
  const text = `${describeRun(platform.version)}

The writers of the platform, ${writers} at once, ${options.rounds} rounds in turns: processor time of their backends, or the time of a
statement, as a ratio to a database without a subscription (median, quartiles). All servers share this machine.

${table(['', 'without', 'with a subscription', 'with a subscription and capture'], writing)}

The processor time of a writer's transaction with a subscription and capture, and the time of the applier until a change is there, as a
ratio to a subscription into tables without triggers:

${judge(judged)}`
  publish('Adoption', text)
} finally {
  for (const [owner, url] of owners) await removeStaging(owner, url)
  await platform.stop()
  await gateway.stop()
}
