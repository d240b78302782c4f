/**
 * The cost of the worst searches: `npm run bench -- searches`. A group of 1,000 tenants with 2.5 million vouchers, of
 * which the largest tenant has 160,000; each search of both, as a page, as the next page and as a count. Prints the
 * quota units that each costs, and the time that the database needs.
 * The limits of R31: 5 s for 120 operations.
 *
 * With `--pages` it reads a page of each filter in each order, of a tenant with 51,000 vouchers.
 */
import { parseArgs } from 'node:util'
import { postgresCpu } from './harness/cpu-time.ts'
import { judge } from './harness/goals.ts'
import { buildService, root } from './harness/packages.ts'
import { startService } from './harness/processes.ts'
import { describeRun, logProgress, record, table } from './harness/report.ts'
import { sizes, treeOf } from './harness/seed.ts'
import { openSeeded } from './harness/seeded-database.ts'
import { type Case, cases } from './searches/cases.ts'
import { pages } from './searches/pages.ts'

const { values: options } = parseArgs({
  options: {
    /** Only searches whose names hold this text. */
    only: { type: 'string', default: '' },
    /** Only this tenant or group. */
    of: { type: 'string', default: '' },
    /** The number of times that each search is sent: its lowest time counts, because other load only adds to it. */
    times: { type: 'string', default: '5' },
    /** The goal of the database time of an operation, in milliseconds: its limit is what R31 allows. */
    limit: { type: 'string', default: String(5_000 / 120 / 1.25) },
    /** Reads pages of each filter and order, instead of the worst searches. */
    pages: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})

const tree = treeOf(sizes.searches)
const scopes = {
  'tenant with 51,000 vouchers': { tenantId: tree.firstLeaf + 1, withDescendants: false },
  'largest tenant': { tenantId: tree.firstLeaf, withDescendants: false },
  'whole group': { tenantId: tree.root, withDescendants: true },
}

buildService(root)
const database = await openSeeded('searches')
const clock = await postgresCpu(database.sql)
const service = await startService(database)

/** Sends a search. @returns its operations, and the CPU time of the database server in milliseconds */
async function send(
  { list, args }: Case,
  scope: keyof typeof scopes,
  { first, selection }: (typeof reads)[keyof typeof reads],
  after: string | null,
) {
  const { tenantId, withDescendants } = scopes[scope]
  const given = `withDescendants: ${withDescendants}, first: ${first}, after: ${JSON.stringify(after)}, ${args}`
  const query = `{ tenant(id: ${tenantId}) { list: ${list}(${given}) { ${selection} } } }`
  const before = clock()
  const start = performance.now()
  const answer = await fetch(`${service.origin}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${database.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { data, errors, extensions } = await answer.json()
  const wholeMs = performance.now() - start
  if (errors) throw new Error(`${query}: ${JSON.stringify(errors)}`)
  const ms = (clock() - before) * 1000
  const nextCursor: string | null = data.tenant.list.nextCursor ?? null
  return { operations: Number(extensions.cost.requested), ms, wholeMs, nextCursor }
}

/** The selections that are read of each search. A page has the greatest size. */
const reads = {
  page: { first: 100, selection: 'edges { matchedFields node { databaseId } } nextCursor' },
  'next page': { first: 100, selection: 'edges { matchedFields node { databaseId } }' },
  count: { first: 0, selection: 'count { count precision }' },
}
const wanted = options.pages
  ? { cases: pages, scopes: ['tenant with 51,000 vouchers'] as const, reads: { page: { ...reads.page, first: 50 } } }
  : { cases, scopes: ['largest tenant', 'whole group'] as const, reads }
const rows: string[][] = []
let dearest = { name: '', ofOne: 0 }
try {
  for (const each of wanted.cases.filter(({ name }) => name.includes(options.only))) {
    for (const scope of wanted.scopes.filter(each => each.includes(options.of))) {
      let cursor: string | null = null
      for (const [what, read] of Object.entries(wanted.reads)) {
        const after: string | null = what === 'next page' ? cursor : null
        if (what === 'next page' && after === null) continue
        const sent: Awaited<ReturnType<typeof send>>[] = []
        for (let time = 0; time < Number(options.times); time++) sent.push(await send(each, scope, read, after))
        cursor = sent[0]?.nextCursor ?? null
        const { operations, ms } = sent.reduce((best, one) => (one.ms < best.ms ? one : best))
        const whole = Math.min(...sent.map(({ wholeMs }) => wholeMs))
        const ofOne = options.pages ? ms : ms / operations
        if (ofOne >= dearest.ofOne) dearest = { name: `${each.name}, ${scope}, ${what}`, ofOne }
        const times = [ms, options.pages ? whole : ofOne].map(time => time.toFixed(1))
        rows.push([each.list, each.name, scope, what, String(operations), ...times])
        logProgress(rows.at(-1)?.join('  ') ?? '')
      }
    }
  }
} finally {
  await service.stop()
  await database.close()
}
const heads = ['list', 'search', 'of', 'read', 'operations', 'ms', options.pages ? 'ms of the call' : 'ms an operation']
const worst = rows.toSorted((a, b) => Number(b.at(-1)) - Number(a.at(-1))).slice(0, 15)
const text = `${describeRun(database.version)} The dearest 15 of ${rows.length} reads: the lowest time of ${options.times}.

${table(heads, worst)}`
const goal = `≤ ${Number(options.limit)}` as const
console.log(
  `${text}\n\n${judge([{ name: `the dearest: ${dearest.name}`, goal, unit: 'ms', values: [dearest.ofOne] }])}`,
)
if (options.record) record(options.pages ? 'Pages of filters and orders' : 'Searches', text)
