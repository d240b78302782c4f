/**
 * The cases in which the triggers cost writers and readers most: `npm run bench -- worst-cases`. Many tenants in one
 * statement, writers of the same rows, and the watermark beside many writers and large transactions. Each measurement
 * has a fresh database.
 */
import { parseArgs } from 'node:util'
import { logProgress, record, table } from './harness/report.ts'
import { editProducts, insertChildren, type Tally } from './writers/conflicts.ts'
import {
  bare,
  type Connections,
  type Contender,
  ContenderDatabases,
  complete,
  populate,
  variantOf,
} from './writers/databases.ts'
import { shapes, timeTenants } from './writers/tenants.ts'
import { lagBesideBulk, lagOfWatermark, timeWatermark } from './writers/watermark.ts'
import { takeWriteMarker, writers } from './writers/workloads.ts'

const { values: options } = parseArgs({
  options: {
    /** The number of tenants that one statement inserts. */
    tenants: { type: 'string', default: '20000' },
    /** The number of vouchers that one transaction inserts. */
    vouchers: { type: 'string', default: '100000' },
    /** The time that writers of the same rows run. */
    seconds: { type: 'string', default: '10' },
    /** Only the parts whose names contain it: tenants, parent, category, lag, watermark. */
    only: { type: 'string', default: '' },
    'not-durable': { type: 'boolean', default: false },
    /** Files of SQL, each an additional contender. */
    variant: { type: 'string', multiple: true, default: [] },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)
const contenders: Contender[] = [bare, complete, ...options.variant.map(variantOf)]

/** Runs one measurement on a fresh database of each contender. */
async function onEach<Result>(
  databases: ContenderDatabases,
  count: number,
  work: (connections: Connections, contender: Contender) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const copies = await databases.freshCopies(count)
  for (const [index, contender] of contenders.entries()) {
    results.push(await work(copies[index]!, contender))
    for (const connection of copies[index]!) await connection.end()
  }
  return results
}

async function describeTenants(databases: ContenderDatabases): Promise<string> {
  const count = Number(options.tenants)
  const rows: string[][] = []
  for (const shape of shapes) {
    const times = await onEach(databases, 1, ([sql]) => timeTenants(sql, shape, count))
    rows.push([shape.name, ...times.map(time => `${time.toFixed(2)} s`)])
  }
  return `${count} tenants in one statement of a session that has inserted one:

${table(['tenants', ...contenders.map(({ name }) => name)], rows)}`
}

/** @returns a row for each group of writers, with the commits and the deadlocks of each contender */
const describeTallies = (tallies: Tally[][]) =>
  tallies[0]!.map(({ group }, place) => [
    group,
    ...tallies.map(each => `${each[place]!.commits} commits, ${each[place]!.deadlocks} deadlocks`),
  ])

async function describeParent(databases: ContenderDatabases): Promise<string> {
  const rows: string[][] = []
  for (const changing of [false, true]) {
    const tallies = await onEach(databases, 5, connections => insertChildren(connections, { changing, seconds }))
    rows.push(...describeTallies(tallies))
  }
  return `Four writers insert children of one tenant, a fifth renames that tenant, for ${seconds} s:

${table(['transaction', ...contenders.map(({ name }) => name)], rows)}`
}

async function describeCategory(databases: ContenderDatabases): Promise<string> {
  const rows: string[][] = []
  for (const { title, ...order } of [
    { title: 'random order', ordered: false, renamed: true },
    { title: 'order of ids', ordered: true, renamed: true },
    { title: 'random order, no rename', ordered: false, renamed: false },
  ]) {
    const tallies = await onEach(databases, 5, connections => editProducts(connections, { ...order, seconds }))
    rows.push(...describeTallies(tallies).map(cells => [title, ...cells]))
  }
  return `Four editors of the 50 products of a category, a fifth writer renames it, for ${seconds} s:

${table(['case', 'transaction', ...contenders.map(({ name }) => name)], rows)}`
}

async function describeLag(databases: ContenderDatabases): Promise<string> {
  const rows: string[][] = []
  for (const marked of [false, true]) {
    await onEach(databases, 2, async ([reader, writer], contender) => {
      // Without triggers there is no write marker, and the watermark is the clock.
      if (contender === bare) return
      const lag = await lagBesideBulk(reader, writer!, { rows: Number(options.vouchers), marked })
      const figures = [lag.p50, lag.max, lag.writing, lag.committing, lag.seenAfter]
      rows.push([contender.name, marked ? 'yes' : 'no', ...figures.map(figure => `${figure.toFixed(1)} ms`)])
    })
  }
  return `How far the watermark is behind the clock beside one transaction that inserts ${options.vouchers} vouchers of one
tenant, from its start until they are below the watermark:

${table(['contender', `\`${takeWriteMarker}\` first`, 'p50', 'max', 'statements took', 'commit took', 'seen after the commit'], rows)}`
}

async function describeWatermark(databases: ContenderDatabases): Promise<string> {
  const rows: string[][] = []
  const lags: string[][] = []
  await onEach(databases, 101, async (connections, contender) => {
    if (contender === bare) return
    await connections[0].unsafe(populate)
    for (const open of [0, 20, 100]) {
      const { watermark, empty } = await timeWatermark(connections[0], connections.slice(1, 1 + open))
      rows.push([contender.name, String(open), `${watermark.toFixed(2)} ms`, `${empty.toFixed(2)} ms`])
    }
    for (const changed of [1, 1000]) {
      const lag = await lagOfWatermark(connections, { writers, rows: changed, seconds: 5 })
      const figures = [lag.p50, lag.p99, lag.max].map(figure => `${figure.toFixed(1)} ms`)
      lags.push([contender.name, String(changed), ...figures])
    }
  })
  return `${table(['contender', 'open writers', '`select gateway.watermark()`', '`select 1`'], rows)}

How far the watermark is behind the clock while one transaction is held open for 5 s and ${writers} short writers run:

${table(['contender', 'rows that the long one changed', 'p50', 'p99', 'max'], lags)}`
}

const parts = {
  tenants: describeTenants,
  parent: describeParent,
  category: describeCategory,
  lag: describeLag,
  watermark: describeWatermark,
}

await ContenderDatabases.run(contenders, { durable: !options['not-durable'], empty: true }, async databases => {
  const texts: string[] = []
  for (const [name, describe] of Object.entries(parts)) {
    if (!name.includes(options.only)) continue
    texts.push(await describe(databases))
    logProgress(`measured: ${name}`)
  }
  const text = [databases.describe(), ...texts].join('\n\n')
  console.log(text)
  if (options.record) record('Writers, worst cases', text)
})
