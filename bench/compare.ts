/**
 * The cost of a change for readers: `npm run bench -- compare <commit>` measures the working tree against that commit.
 * Both versions, and a second copy of the working tree, are built and run in turns. The ratio of the two copies shows
 * the noise. Each side has its own database, which its own command line migrates. Both have the same records.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { comparedCalls, maskAnswer, readRequests } from './compare/calls.ts'
import { build, copyWorkingTree, exportCommit } from './compare/checkout.ts'
import { postgresCpu } from './harness/cpu-time.ts'
import { createMigrated, type DatabaseServer, startTemporaryServer } from './harness/database-server.ts'
import { connections, Load } from './harness/load.ts'
import { graphqlTransport, type HttpRequest, restTransport, send, type Transport } from './harness/operations.ts'
import { publish, readOptions } from './harness/options.ts'
import { git } from './harness/packages.ts'
import { createToken, type Installation, type Running, startService } from './harness/processes.ts'
import { describeRatios, describeRun, logProgress, median, ratios, table } from './harness/report.ts'
import { type Figures, measureRounds, type Requests, type Results, type Subject, valuesOf } from './harness/rounds.ts'
import { seed, sizes, treeOf } from './harness/seed.ts'

const options = readOptions({
  rounds: 12,
  /** The approximate time of a turn, in seconds: each server has two turns in a round. */
  seconds: 0.25,
  /** The requests of each call to each server before the first round. */
  'warm-up': 3000,
  /** A text, such as `rest` or `Catalog`: only calls whose names contain it are compared. */
  only: '',
  /** Lets the services of the working tree measure themselves: nothing reads their metrics. */
  metrics: false,
})
const [commit] = options.positionals
if (commit === undefined) throw new Error('Name a commit, for example: npm run bench -- compare HEAD~1')
const calls = comparedCalls.filter(({ name }) => name.includes(options.only))
if (calls.length === 0) throw new Error(`--only takes a part of: ${comparedCalls.map(({ name }) => name).join(', ')}.`)
const timing = { rounds: options.rounds, seconds: options.seconds, warmUp: options['warm-up'] }

/** The highest ratio of Node's CPU time at which a call counts as equal. */
const equalLimit = 1.05

const size = sizes.short
const { root: group, firstLeaf } = treeOf(size)

/** One version of the service with its database. */
interface Side {
  installation: Installation
  server: DatabaseServer
  transports: Record<'rest' | 'graphql', Transport>
}

async function prepareSide(name: string, checkout: string): Promise<Side> {
  build(checkout)
  logProgress(`built ${name}`)
  const server = await startTemporaryServer({ sharedBuffers: '256MB' })
  try {
    const installation = await createMigrated(server, 'compare', checkout)
    const sql = server.open('compare')
    await seed(sql, size)
    await sql.end()
    const secret = await createToken(installation, group)
    logProgress(`migrated and filled the database of ${name}`)
    const transports = { rest: restTransport(secret), graphql: graphqlTransport(secret) }
    return { installation, server, transports }
  } catch (error) {
    await server.stop()
    throw new Error(`The database of ${name} cannot be prepared.`, { cause: error })
  }
}

/** A running service of one side. */
interface Competitor extends Subject, Running {
  side: Side
}

async function startCompetitor(name: string, side: Side, hasMetrics = false): Promise<Competitor> {
  const sql = side.server.open('compare')
  const postgres = await postgresCpu(sql)
  await sql.end()
  const settings = hasMetrics ? { METRICS_PORT: String(await freePort()) } : {}
  const running = await startService(side.installation, { settings })
  // The first service of a side writes its records.
  const tenants = side.transports.rest.request('ListTenants', { tenant: group })
  for (let status = 503; status === 503; await sleep(100)) {
    status = (await fetch(running.origin + tenants.path, tenants)).status
  }
  return { name, side, postgres, ...running }
}

/** The calls that are compared, and the calls that are not. */
interface Prepared {
  requests: Requests
  /** Calls that the competitors answer differently. */
  different: string[]
  /** Calls that a competitor does not answer, with its error. */
  failed: string[]
}

/** The number of answers of each call that are compared. */
const comparedAnswers = 8

async function prepareRequests(competitors: Competitor[]): Promise<Prepared> {
  const prepared: Prepared = { requests: new Map(), different: [], failed: [] }
  for (const { name, transport, operation } of calls) {
    const ofCall = new Map<Competitor, HttpRequest[]>()
    const answers = new Set<string>()
    let first: Parameters<typeof readRequests>[0] | undefined
    try {
      for (const competitor of competitors) {
        const service = { origin: competitor.origin, transport: competitor.side.transports[transport] }
        first ??= service
        const sent = await readRequests(first, service, operation, firstLeaf)
        ofCall.set(competitor, sent)
        const texts = await Promise.all(sent.slice(0, comparedAnswers).map(request => send(competitor.origin, request)))
        answers.add(maskAnswer(texts.join('\n')))
      }
      if (answers.size > 1) prepared.different.push(name)
      prepared.requests.set(name, ofCall)
    } catch (error) {
      // The commit may lack fields that the working tree's documents select.
      prepared.failed.push(`${name} (${error instanceof Error ? error.message : error})`)
    }
  }
  return prepared
}

/** @returns the results in Markdown */
function describe(results: Results, { different, failed }: Prepared): string {
  const above: string[] = []
  const rows = [...results.keys()].map(name => {
    const pick = (subject: string, measure: keyof Figures) => valuesOf(results, name, subject, measure)
    const ratio = (subject: string, base: string, measure: keyof Figures) =>
      describeRatios(pick(subject, measure), pick(base, measure))
    const node = median(ratios(pick('after', 'node'), pick('before', 'node')))
    if (node > equalLimit) above.push(`${name} (${node.toFixed(2)})`)
    return [
      name,
      median(pick('before', 'node')).toFixed(0),
      median(pick('before', 'postgres')).toFixed(0),
      ratio('after', 'before', 'node'),
      ratio('after', 'before', 'total'),
      ratio('after', 'before', 'perSecond'),
      ratio('after again', 'after', 'node'),
    ]
  })
  const heads = [
    'call',
    'Node before, µs',
    'Postgres before, µs',
    'Node',
    'Node + Postgres',
    'requests/s',
    'equals: Node',
  ]
  return `${table(heads, rows)}

Above ${equalLimit} in Node: ${above.join(', ') || 'none'}. Answered differently: ${different.join(', ') || 'none'}. \
Not measured: ${failed.join(', ') || 'none'}.`
}

const workDirectory = mkdtempSync(join(tmpdir(), 'gateway-compare-'))
const hash = git('rev-parse', '--short', commit)
const sides: Side[] = []
const competitors: Competitor[] = []
const load = new Load()
try {
  const directories = { before: join(workDirectory, 'before'), after: join(workDirectory, 'after') }
  exportCommit(commit, directories.before)
  copyWorkingTree(directories.after)
  const before = await prepareSide(hash, directories.before)
  sides.push(before)
  const after = await prepareSide('the working tree', directories.after)
  sides.push(after)
  competitors.push(await startCompetitor('before', before))
  for (const name of ['after', 'after again']) competitors.push(await startCompetitor(name, after, options.metrics))
  const prepared = await prepareRequests(competitors)
  logProgress(`prepared ${prepared.requests.size} calls`)
  const results = await measureRounds(prepared.requests, load, timing)
  const text = `${describeRun(after.server.version)} Before is ${hash} (${git('show', '-s', '--format=%s', commit)}), \
after the working tree${options.metrics ? ', with METRICS_PORT' : ''}.

${connections} connections, ${timing.rounds} rounds in turns of some ${timing.seconds} s, the second half of a round in reverse order, after \
${timing.warmUp} requests to warm up; the same ${size.vouchers.toLocaleString('en')} vouchers, durable commits. CPU time is a request's. Ratios are after / before, \
of the same round: median (quartiles); of CPU time less is better. "Equals" is the ratio of two copies of after: noise.

${describe(results, prepared)}`
  publish('A change against a commit', text)
} finally {
  load.stop()
  await Promise.all(competitors.map(competitor => competitor.stop()))
  await Promise.all(sides.map(({ server }) => server.stop()))
  rmSync(workDirectory, { recursive: true, force: true })
}
