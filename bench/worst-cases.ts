/**
 * Where the triggers cost writers and readers most: `npm run bench:worst-cases`. Many tenants in one statement, writers
 * who meet at the same rows, and the watermark beside one transaction of many rows. Each measurement has a fresh database.
 */
import { parseArgs } from 'node:util'
import type { Pool } from '../src/db/connect.ts'
import { editProducts, putTenantsBelow, type Tally } from './conflicts.ts'
import { Arena, type Contender, stamped, unstamped, variantOf } from './contenders.ts'
import { record, table } from './harness/report.ts'
import { shapes, timeTenants } from './tenants.ts'
import { lagBesideBulk } from './watermark.ts'
import { holding } from './workloads.ts'

const { values: options } = parseArgs({
  options: {
    /** How many tenants one statement inserts. */
    tenants: { type: 'string', default: '20000' },
    /** How many vouchers one transaction inserts. */
    vouchers: { type: 'string', default: '100000' },
    /** For how long writers meet. */
    seconds: { type: 'string', default: '10' },
    /** Only the parts whose names contain it: tenants, parent, category, lag. */
    only: { type: 'string', default: '' },
    'not-durable': { type: 'boolean', default: false },
    /** Files of SQL, each tried as a contender more. */
    variant: { type: 'string', multiple: true, default: [] },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)
const contenders: Contender[] = [unstamped, stamped, ...options.variant.map(variantOf)]

/** Runs one measurement on each contender, in a fresh database. */
async function onEach<Result>(
  arena: Arena,
  count: number,
  work: (connections: Pool[], contender: Contender) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const copies = await arena.freshCopies(contenders, count)
  for (const [index, contender] of contenders.entries()) {
    results.push(await work(copies[index]!, contender))
    for (const connection of copies[index]!) await connection.end()
  }
  return results
}

async function describeTenants(arena: Arena): Promise<string> {
  const count = Number(options.tenants)
  const rows: string[][] = []
  for (const shape of shapes) {
    const times = await onEach(arena, 1, ([sql]) => timeTenants(sql!, shape, count))
    rows.push([shape.name, ...times.map(time => `${time.toFixed(2)} s`)])
  }
  return `${count} tenants in one statement of a session that has inserted one:

${table(['tenants', ...contenders.map(({ name }) => name)], rows)}`
}

/** A row for each kind of writers, with the commits and the deadlocks of each contender. */
const describeTallies = (tallies: Tally[][]) =>
  tallies[0]!.map(({ kind }, place) => [
    kind,
    ...tallies.map(each => `${each[place]!.commits} commits, ${each[place]!.deadlocks} deadlocks`),
  ])

type Five = [Pool, ...Pool[]]

async function describeParent(arena: Arena): Promise<string> {
  const rows: string[][] = []
  for (const changing of [false, true]) {
    const tallies = await onEach(arena, 5, connections => putTenantsBelow(connections as Five, { changing, seconds }))
    rows.push(...describeTallies(tallies))
  }
  return `Four writers put tenants below one, a fifth changes the name of that one, for ${seconds} s:

${table(['transaction', ...contenders.map(({ name }) => name)], rows)}`
}

async function describeCategory(arena: Arena): Promise<string> {
  const rows: string[][] = []
  for (const { title, ...order } of [
    { title: 'random order', ordered: false, renamed: true },
    { title: 'order of ids', ordered: true, renamed: true },
    { title: 'random order, no rename', ordered: false, renamed: false },
  ]) {
    const tallies = await onEach(arena, 5, connections => editProducts(connections as Five, { ...order, seconds }))
    rows.push(...describeTallies(tallies).map(cells => [title, ...cells]))
  }
  return `Four editors of the 50 products of a category, a fifth writer renames it, for ${seconds} s:

${table(['case', 'transaction', ...contenders.map(({ name }) => name)], rows)}`
}

async function describeLag(arena: Arena): Promise<string> {
  const rows: string[][] = []
  const canHold = await arena.hasFunction(holding)
  for (const holds of canHold ? [false, true] : [false]) {
    await onEach(arena, 2, async ([reader, writer], contender) => {
      // Without triggers there is no write marker, so the watermark is the clock.
      if (contender === unstamped) return
      const lag = await lagBesideBulk(reader!, writer!, { rows: Number(options.vouchers), holds })
      const figures = [lag.p50, lag.max, lag.writing, lag.committing, lag.seenAfter]
      rows.push([contender.name, holds ? 'yes' : 'no', ...figures.map(figure => `${figure.toFixed(1)} ms`)])
    })
  }
  return `How far the watermark is behind the clock beside one transaction that inserts ${options.vouchers} vouchers of one
tenant, from its start until they are below the watermark:

${table(['contender', '`gateway.announce_bulk_write()` first', 'p50', 'max', 'statements took', 'commit took', 'seen after the commit'], rows)}`
}

const parts = { tenants: describeTenants, parent: describeParent, category: describeCategory, lag: describeLag }

await Arena.run({ durable: !options['not-durable'] }, async arena => {
  await arena.prepare(contenders, { empty: true })
  const texts: string[] = []
  for (const [name, describe] of Object.entries(parts)) {
    if (!name.includes(options.only)) continue
    texts.push(await describe(arena))
    process.stderr.write(`${name} measured\n`)
  }
  const text = [await arena.describe(), ...texts].join('\n\n')
  console.log(text)
  if (options.record) record('Writers, worst cases', text)
})
