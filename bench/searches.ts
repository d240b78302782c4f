/**
 * The cost of the worst searches, and of figures: `npm run bench -- searches`. A group of 1,000 tenants with 2.5
 * million vouchers, of which the largest tenant has 160,000. Each search, of the group and of the largest tenant, is
 * measured as a first page, as the next page and as a count. Prints the quota units that each read costs, and the time
 * that the database needs. R31 allows 5 s for 120 operations, and R28 allows 16 ms for a quota unit of figures.
 */
import { postgresCpu } from './harness/cpu-time.ts'
import { checkGoals, table } from './harness/goals.ts'
import { post } from './harness/operations.ts'
import { startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { sizes, treeOf } from './harness/seed.ts'
import { openSeeded } from './harness/seeded-database.ts'
import { cases, figures } from './searches/cases.ts'

const { only, times } = readOptions({
  /** A part of a name. Only searches whose names contain this text are measured. */
  only: '',
  /**
   * The number of times that each search is sent. The lowest time is used, because other load can only make a search
   * slower.
   */
  times: 5,
})

const tree = treeOf(sizes.searches)
const scopes = {
  'largest tenant': { tenantId: tree.firstLeaf, withDescendants: false },
  'whole group': { tenantId: tree.root, withDescendants: true },
}

const database = await openSeeded('searches')
const clock = await postgresCpu(database.sql)
const service = await startService(database)

/**
 * Sends the query of a tenant.
 * @returns the quota units of the query, the CPU time of the database server in milliseconds, and the next cursor
 */
async function send(tenantId: number, selection: string) {
  const query = `{ tenant(id: ${tenantId}) { ${selection} } }`
  const before = clock()
  const { path, ...init } = post(database.secret, '/graphql', { query })
  const answer = await fetch(service.origin + path, init)
  const { data, errors, extensions } = await answer.json()
  if (errors) throw new Error(`${query}: ${JSON.stringify(errors)}`)
  const nextCursor: string | null = data.tenant.list?.nextCursor ?? null
  return { operations: Number(extensions.cost.requested), ms: (clock() - before) * 1000, nextCursor }
}

/** The goals of the database time of an operation, in milliseconds. The limit of searches is 5 s for 120 operations (R31). */
const goals = { search: '≤ 33.3 ms', figure: '≤ 16 ms' } as const

interface Read {
  kind: keyof typeof goals
  /** The list, the search, the scope and the read. */
  names: string[]
  operations: number
  ms: number
  ofOne: number
}
const measured: Read[] = []

/** Measures a query of a tenant. @returns the cursor of the next page */
async function measure(kind: Read['kind'], names: string[], tenantId: number, selection: string) {
  const sent: Awaited<ReturnType<typeof send>>[] = []
  for (let time = 0; time < times; time++) sent.push(await send(tenantId, selection))
  const { operations, ms, nextCursor } = sent.reduce((best, one) => (one.ms < best.ms ? one : best))
  measured.push({ kind, names, operations, ms, ofOne: ms / operations })
  logProgress(`${names.join('  ')}  ${operations}  ${ms.toFixed(1)}`)
  return nextCursor
}

/** The selections of a list that are read. A page has the maximum size. */
const reads = {
  page: { first: 100, selection: 'edges { matchedFields node { databaseId } } nextCursor' },
  'next page': { first: 100, selection: 'edges { matchedFields node { databaseId } }' },
  count: { first: 0, selection: 'count { count precision }' },
}

for (const [scope, { tenantId, withDescendants }] of Object.entries(scopes)) {
  for (const { name, list, args } of cases.filter(({ name }) => name.includes(only))) {
    let cursor: string | null = null
    for (const [read, { first, selection }] of Object.entries(reads)) {
      const after: string | null = read === 'next page' ? cursor : null
      if (read === 'next page' && after === null) continue
      const given = `withDescendants: ${withDescendants}, first: ${first}, after: ${JSON.stringify(after)}, ${args}`
      const query = `list: ${list}(${given}) { ${selection} }`
      cursor = await measure('search', [list, name, scope, read], tenantId, query)
    }
  }
  for (const { name, args, selection } of figures.filter(({ name }) => name.includes(only))) {
    const query = `figures(withDescendants: ${withDescendants}, ${args}) { ${selection} }`
    await measure('figure', ['figures', name, scope, ''], tenantId, query)
  }
}
const byCost = measured.toSorted((one, other) => other.ofOne - one.ofOne)
const mostExpensive = (['search', 'figure'] as const).flatMap(kind => byCost.find(read => read.kind === kind) ?? [])
const text = `${describeRun(database.version)} The most expensive 15 of ${measured.length} reads: the lowest time of ${times}.

${table(
  ['list', 'search', 'of', 'read', 'operations', 'ms', 'ms an operation'],
  byCost
    .slice(0, 15)
    .map(({ names, operations, ms, ofOne }) => [...names, String(operations), ms.toFixed(1), ofOne.toFixed(1)]),
)}

${checkGoals(
  mostExpensive.map(({ kind, names, ofOne }) => [
    `the most expensive ${kind}: ${names.join(' ')}`,
    goals[kind],
    [ofOne],
  ]),
)}`
publish('Searches', text)
